import { watchAttempt } from './attempt-signal.ts';
import { type Delivery, isBackpressure, parseEnvelope } from './delivery.ts';
import { createJobCalls } from './job-calls.ts';
import { type Api, readOptions, type Settings, type WebhookOptions } from './options.ts';
import { createReports, type Reports, toReason } from './report.ts';
import { verifySignature } from './signature.ts';

/** Handles a delivery. Its result is ignored unless it is `Backpressure`. */
export type HandlerFunction<Payload> = (delivery: Delivery<Payload>) => unknown;

/** The answer to a delivery. */
export interface Reply {
  /** HTTP status. */
  status: number;
  /** Header names are in lower case. */
  headers: Record<string, string>;
  /** JSON text, or empty. */
  body: string;
}

/** The result of a delivery. */
export interface Received {
  /** The answer, which the framework's handler sends at once. */
  reply: Reply;
  /** In ack mode: runs the function and reports its result. Call it after the reply is sent. Never rejects. */
  afterwards?: () => Promise<void>;
}

/** The part of a webhook that does not depend on the framework. */
export interface Receiver {
  /** Limit in bytes; the framework's handler refuses larger bodies. */
  readonly maxBodyBytes: number;
  /** Checks a request by its body and headers, and handles the delivery. Never rejects. */
  receive(body: Uint8Array, header: (name: string) => string | null): Promise<Received>;
}

export function refusal(status: number, error: string, headers: Record<string, string> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ error }) };
}

/** Returns the value of a header of Node's request; null when it is missing or repeated. */
export function oneValue(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null;
}

export const TOO_LARGE = refusal(413, 'the body is larger than maxBodyBytes');

const NOT_SET_UP = refusal(500, 'the webhook handler is not set up: its log says what is missing');

/** The part that the handlers of all frameworks share: from the bytes to the reply. */
export function createReceiver<Payload>(options: WebhookOptions, run: HandlerFunction<Payload>): Receiver {
  const settings = readOptions(options);

  return {
    maxBodyBytes: settings.maxBodyBytes,
    async receive(body, header) {
      const late = await readLate(settings);
      if (late === null) return { reply: NOT_SET_UP };
      // Spec "Authentication", 5: the body is not parsed before its signature is verified.
      const { signatureHeaders, mode, ackTimeoutMs } = settings;
      if (!(await isGenuine(late.secrets, signatureHeaders.map(header), body))) return { reply: NOT_GENUINE };
      const job = parseEnvelope<Payload>(body);
      if (job === null) return { reply: refusal(400, 'the body is not a job') };

      const calls = late.api === null ? null : createJobCalls(late.api, job.id);
      const watch = mode === 'ack' && calls && ackTimeoutMs !== null ? watchAttempt(calls, job, ackTimeoutMs) : null;
      const signal = watch?.signal ?? new AbortController().signal;
      const delivery: Delivery<Payload> = { job, signal, ...createReports(calls, job) };
      if (mode === 'standard') return { reply: await answerFor(delivery, run, settings) };
      const afterwards = () => runAndReport(delivery, run, settings).finally(() => watch?.stop());
      return { reply: empty(202), afterwards };
    },
  };
}

/** Returns null when an option is missing. The log has the reason, which the sender of the request must not see. */
async function readLate({ secrets, api }: Settings): Promise<{ secrets: readonly string[]; api: Api | null } | null> {
  try {
    return { secrets: await secrets(), api: await api() };
  } catch (error) {
    console.error('the webhook handler cannot take deliveries:', error);
    return null;
  }
}

const NOT_GENUINE = refusal(401, 'the signature is not valid');

async function isGenuine(
  secrets: readonly string[],
  signatures: readonly (string | null)[],
  body: Uint8Array,
): Promise<boolean> {
  const matches = await Promise.all(signatures.map((signature) => verifySignature(body, signature, secrets)));
  return matches.includes(true);
}

async function answerFor<Payload>(
  delivery: Delivery<Payload>,
  run: HandlerFunction<Payload>,
  { onError }: Settings,
): Promise<Reply> {
  const result = await outcomeOf(run, delivery);
  if (isBackpressure(result.value)) {
    return refusal(429, 'backpressure', { 'retry-after': String(result.value.retryAfterSeconds) });
  }
  if (result.ok) return empty(200);
  onError(result.value, delivery.job);
  return refusal(500, 'the handler failed');
}

async function runAndReport<Payload>(
  { job, signal, ...reports }: Delivery<Payload>,
  run: HandlerFunction<Payload>,
  { onError }: Settings,
): Promise<void> {
  let reported = false;
  const noting = <Args extends unknown[], R>(report: (...args: Args) => Promise<R>) => {
    return (...args: Args) => {
      reported = true;
      return report(...args);
    };
  };
  const delivery = {
    ...{ job, signal },
    ack: noting(reports.ack),
    nack: noting(reports.nack),
    defer: noting(reports.defer),
  };
  const result = await outcomeOf(run, delivery);
  if (!result.ok && !isBackpressure(result.value)) onError(result.value, job);
  // If the function's own report failed, `result` has the error. A second report could contradict the first one.
  if (!reported) await report(result, reports).catch((error: unknown) => onError(error, job));
}

type Outcome = { ok: boolean; value: unknown };

async function outcomeOf<Payload>(run: HandlerFunction<Payload>, delivery: Delivery<Payload>): Promise<Outcome> {
  try {
    return { ok: true, value: await run(delivery) };
  } catch (value) {
    return { ok: false, value };
  }
}

async function report({ ok, value }: Outcome, { ack, nack, defer }: Reports): Promise<void> {
  if (isBackpressure(value)) {
    await defer({ retryAfter: value.retryAfterSeconds, scope: value.scope, reason: toReason(value.message) });
  } else if (ok) await ack();
  else await nack({ reason: toReason(value) });
}

function empty(status: number): Reply {
  return { status, headers: {}, body: '' };
}
