import { signedReportText } from '../../../../src/domain/report-url.ts';
import { type AttemptWatch, watchAttempt } from './attempt-signal.ts';
import { type DeliveredJob, type Delivery, parseEnvelope } from './delivery.ts';
import { createExtension, DAY_MS, type Extension } from './extend.ts';
import { createJobCalls, createUrlCalls, type JobCalls } from './job-calls.ts';
import { type Api, readOptions, type Settings, type WebhookOptions } from './options.ts';
import { REFUSALS, type RefusalCause } from './refusals.ts';
import { createReports, NEEDS_API, type Reports, toReason } from './report.ts';
import { describeIssues } from './schema.ts';
import { verifySignature } from './signature.ts';
import { isBackpressure, isPermanent } from './thrown.ts';

/** The second has the signature of the next secret during a rotation. */
const REPORT_URL_HEADERS = ['x-jobferry-report-url', 'x-jobferry-report-url-next'] as const;

/**
 * Returns the report URL of a delivery if Jobferry has signed it for this attempt. The signature of the body covers no
 * headers, so another address, or that of another job, could have been put in.
 */
async function verifiedReportUrl(
  urls: readonly (string | null)[],
  { id, attempt }: Pick<DeliveredJob<unknown>, 'id' | 'attempt'>,
  secrets: readonly string[],
): Promise<string | null> {
  for (const url of urls) {
    const [, unsigned, signature] = /^(https?:\/\/.+)\.([0-9a-f]{64})$/.exec(url ?? '') ?? [];
    if (unsigned === undefined || unsigned.split('/').at(-1)?.startsWith(`${id}.${attempt}.`) !== true) continue;
    if (await verifySignature(signedReportText(unsigned), `sha256=${signature}`, secrets)) return url;
  }
  return null;
}

/** Handles a delivery. Its result is ignored unless it is `Backpressure` or `Permanent`. */
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
  /** Refuses a request that does not get as far as `receive`. */
  refuse(cause: RefusalCause): Reply;
  /** Checks a request by its body and headers, and handles the delivery. Never rejects. */
  receive(body: Uint8Array, header: (name: string) => string | null): Promise<Received>;
}

/** A receiver that answers this means: the job must not be tried again (D39). */
const PERMANENT = { 'x-jobferry-outcome': 'permanent' };

function jsonReply(status: number, error: string, headers: Record<string, string> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ error }) };
}

/** Returns the value of a header of Node's request; null when it is missing or repeated. */
export function oneValue(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null;
}

/** The part that the handlers of all frameworks share: from the bytes to the reply. */
export function createReceiver<Payload>(options: WebhookOptions<Payload>, run: HandlerFunction<Payload>): Receiver {
  const settings = readOptions(options);

  function refuse(cause: RefusalCause, detail?: unknown): Reply {
    const { status, error, advice } = REFUSALS[cause];
    const problems = typeof detail === 'string' ? `: ${detail}` : '';
    settings.onRefused({
      cause,
      status,
      message: advice === '' ? error : `${error}: ${advice}`,
      ...(detail === undefined ? {} : { detail }),
    });
    return jsonReply(status, `${error}${problems}`, cause === 'wrong payload' ? PERMANENT : {});
  }

  return {
    maxBodyBytes: settings.maxBodyBytes,
    refuse,
    async receive(body, header) {
      let late: Late;
      try {
        late = { secrets: await settings.secrets(), api: await settings.api() };
      } catch (error) {
        // The sender must not see the reason.
        return { reply: refuse('not set up', error) };
      }
      // Spec "Authentication", 5: the body is not parsed before its signature is verified.
      const signatures = settings.signatureHeaders.map(header).filter((signature) => signature !== null);
      if (signatures.length === 0) return { reply: refuse('no signature') };
      if (!(await isGenuine(late.secrets, signatures, body))) return { reply: refuse('wrong signature') };
      const job = parseEnvelope<Payload>(body);
      if (job === null) return { reply: refuse('no job') };
      try {
        const problems = await checkPayload(job, settings);
        if (problems !== null) return { reply: refuse('wrong payload', problems) };
      } catch (error) {
        settings.onError(error, job);
        return { reply: FAILED };
      }
      const calls = await callsOf(job, late, REPORT_URL_HEADERS.map(header));
      if (calls === null && settings.mode === 'ack')
        return { reply: refuse('not set up', new TypeError(NEEDS_REPORTS)) };
      const ackTimeoutMs = msOf(header('x-jobferry-ack-timeout')) ?? settings.ackTimeoutMs;
      return settings.mode === 'standard'
        ? { reply: await answerFor(deliveryOf(job, calls).delivery, run, settings) }
        : { reply: empty(202), afterwards: () => runAndReport(deliveryOf(job, calls), run, settings, ackTimeoutMs) };
    },
  };
}

/** The options that may be functions, once they are called. */
interface Late {
  secrets: readonly string[];
  api: Api | null;
}

const NEEDS_REPORTS = "mode 'ack' needs baseUrl and apiKey, or REPORT_URL in the settings of the service";

const FAILED = jsonReply(500, 'the handler failed');

async function isGenuine(
  secrets: readonly string[],
  signatures: readonly string[],
  body: Uint8Array,
): Promise<boolean> {
  const matches = await Promise.all(signatures.map((signature) => verifySignature(body, signature, secrets)));
  return matches.includes(true);
}

/** Replaces the payload by the checked one. Returns its problems, or null. */
async function checkPayload<Payload>(
  job: DeliveredJob<Payload>,
  { schema }: Settings<Payload>,
): Promise<string | null> {
  if (schema === null) return null;
  const result = await schema['~standard'].validate(job.payload);
  if (result.issues !== undefined) return toReason(describeIssues(result.issues));
  job.payload = result.value;
  return null;
}

/** A delivery, with what ends when it is over. */
interface Watched<Payload> {
  delivery: Delivery<Payload>;
  /** Null without baseUrl and apiKey. */
  attempt: { watch: AttemptWatch; beat: Extension['beat'] } | null;
}

/** The calls by baseUrl and apiKey, or else by the delivery's report URL; null without both. */
async function callsOf(
  job: DeliveredJob<unknown>,
  { api, secrets }: Late,
  reportUrls: readonly (string | null)[],
): Promise<JobCalls | null> {
  if (api !== null) return createJobCalls(api, job.id);
  const url = await verifiedReportUrl(reportUrls, job, secrets);
  return url === null ? null : createUrlCalls(url, job.id);
}

function deliveryOf<Payload>(job: DeliveredJob<Payload>, calls: JobCalls | null): Watched<Payload> {
  const reports = createReports(calls, job);
  if (calls === null) {
    const extend = async () => {
      throw new Error(NEEDS_API);
    };
    return { delivery: { job, signal: new AbortController().signal, ...reports, extend }, attempt: null };
  }
  const watch = watchAttempt(calls, job);
  const { extend, beat } = createExtension(calls, job, watch);
  return { delivery: { job, signal: watch.signal, ...reports, extend }, attempt: { watch, beat } };
}

async function answerFor<Payload>(
  delivery: Delivery<Payload>,
  run: HandlerFunction<Payload>,
  { onError }: Settings<Payload>,
): Promise<Reply> {
  const { ok, value } = await outcomeOf(run, delivery);
  if (isBackpressure(value)) {
    return jsonReply(429, value.message, { 'retry-after': String(value.retryAfterSeconds) });
  }
  if (isPermanent(value)) return jsonReply(422, toReason(value.message), PERMANENT);
  if (ok) return empty(200);
  onError(value, delivery.job);
  return FAILED;
}

async function runAndReport<Payload>(
  { delivery: { job, signal, extend, ...reports }, attempt }: Watched<Payload>,
  run: HandlerFunction<Payload>,
  { onError, heartbeat }: Settings<Payload>,
  ackTimeoutMs: number | null,
): Promise<void> {
  const stopped = new AbortController();
  const fail = (error: unknown) => onError(error, job);
  if (ackTimeoutMs === null) {
    if (heartbeat)
      fail(new Error('no heartbeat: the header x-jobferry-ack-timeout and the option ackTimeout are missing'));
  } else {
    attempt?.watch.lastsUntil(performance.now() + ackTimeoutMs);
    if (heartbeat) void attempt?.beat(ackTimeoutMs, stopped.signal, fail).catch(fail);
  }
  let reported = false;
  const noting = <Args extends unknown[], R>(report: (...args: Args) => Promise<R>) => {
    return (...args: Args) => {
      reported = true;
      return report(...args).finally(() => stopped.abort());
    };
  };
  const delivery = {
    job,
    signal,
    extend,
    ack: noting(reports.ack),
    nack: noting(reports.nack),
    defer: noting(reports.defer),
  };
  const result = await outcomeOf(run, delivery);
  if (!result.ok && !isBackpressure(result.value) && !isPermanent(result.value)) fail(result.value);
  // If the function's own report failed, `result` has the error. A second report could contradict the first one.
  if (!reported) await report(result, reports).catch(fail);
  // Not before: the report is repeated for as long as the service is away, and the deadline must not pass meanwhile.
  stopped.abort();
  attempt?.watch.stop();
}

/** The header is not signed, so it can be anything. */
function msOf(seconds: string | null): number | null {
  const ms = Math.floor(Number(seconds) * 1000);
  return ms >= 1 && ms <= DAY_MS ? ms : null;
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
  } else if (isPermanent(value)) await nack({ retryable: false, reason: toReason(value.message) });
  else if (ok) await ack();
  else await nack({ reason: toReason(value) });
}

function empty(status: number): Reply {
  return { status, headers: {}, body: '' };
}
