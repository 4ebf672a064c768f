import { toApiKey, toBaseUrl } from '../exchange.ts';
import type { DeliveredJob } from './delivery.ts';
import { createRefusalLog, type Refusal } from './refusals.ts';
import type { PayloadSchema } from './schema.ts';

interface CommonOptions<Payload> {
  /**
   * Mode of the queue; `standard` by default. In `standard`, the handler answers when the function has ended: 200 for
   * success, 500 when it throws, 429 for `Backpressure`, 422 for `Permanent`. Jobferry waits 15 s for the answer.
   *
   * In `ack`, the handler answers 202 at once. Then the function may run for as long as `ackTimeout`, and the handler
   * reports its result: success as ack, an error as nack, `Backpressure` as defer, `Permanent` as a nack that is not
   * retried. It reports nothing if the function has reported itself. Needs `baseUrl` and `apiKey`, unless the service
   * has the setting `REPORT_URL`: then each delivery brings a URL for its reports.
   *
   * To pass a job of a queue in ack mode to another process, leave `standard`: the function resolves when the other
   * process has the job, and that process reports with `@jobferry/client`.
   */
  mode?: 'standard' | 'ack' | undefined;
  /** URL of Jobferry without `/v1`, for ack, nack, defer and extend. */
  baseUrl?: Late<string> | undefined;
  /** API key of the account that owns the queue, for ack, nack, defer and extend. */
  apiKey?: Late<string> | undefined;
  /**
   * Seconds from the arrival of the delivery; the same as the queue's `ackTimeout`. When they have passed and the ack
   * deadline was not extended, `signal` is aborted, except with a key without the scope `read`. Needed only where
   * something between Jobferry and the handler removes the header `x-jobferry-ack-timeout`, which says the same.
   */
  ackTimeout?: number | undefined;
  /**
   * Extends the ack deadline by `ackTimeout` whenever a third of it has passed, for as long as the function runs, but
   * for at most 24 hours. The queue's `ackTimeout` can then be short, and a job whose process has died is soon
   * delivered again. If the service refuses because the attempt is over, `signal` is aborted. Any other refusal, such
   * as the 404 of a proxy or a revoked key, goes to `onError`, and the next extension follows as usual until the
   * deadline has passed. If the deadline passes without an extension, `onError` receives an error. Needs a key with the
   * scopes `report` and `read`, or a report URL; used in ack mode only.
   */
  heartbeat?: boolean | undefined;
  /**
   * Checks the payload of each job, and gives `job.payload` its type. Any schema with the interface of Standard Schema:
   * Zod, Valibot, ArkType and others. A payload that does not fit is answered with 422, the job is dead at once, and
   * the function is not called.
   */
  schema?: PayloadSchema<Payload> | undefined;
  /**
   * Limit of a body in bytes; the handler answers 413 to larger ones. 2 MiB by default, twice the service's default.
   */
  maxBodyBytes?: number | undefined;
  /** Value of the service's `SIGNATURE_HEADER`; `x-service-signature` by default. */
  signatureHeader?: string | undefined;
  /**
   * Receives errors of the function (except `Backpressure` and `Permanent`), of failed reports and of the heartbeat;
   * `console.error` by default.
   */
  onError?: ((error: unknown, job: DeliveredJob<unknown>) => void) | undefined;
  /**
   * Called for each delivery that the handler refuses before it calls the function. By default `console.warn` says what
   * to do, at most once a minute for each cause, since strangers can cause refusals, too. Fastify itself refuses bodies
   * that are too large.
   */
  onRefused?: ((refusal: Refusal) => void) | undefined;
}

/**
 * A value, or a function that the handler calls for each delivery, so the value may come from a secret store and may
 * change. A missing value causes a 500 at the first delivery, and no error when the handler is created: frameworks load
 * it during their build, where there are no secrets.
 */
export type Late<Value> = Value | (() => Value | Promise<Value>);

type SecretOptions =
  | {
      /** The queue's `signingSecret`. */
      secret: Late<string>;
      /** Takes the place of `secret`; not both. */
      secrets?: never;
    }
  | {
      /** The `signingSecret` of each queue with this webhook, or both secrets of a rotation. */
      secrets: Late<readonly string[]>;
      /** Takes the place of `secrets`; not both. */
      secret?: never;
    };

/** Options of every handler. `Payload` is what the `schema` returns; without a schema it need not be named. */
// biome-ignore lint/suspicious/noExplicitAny: options of no schema fit handlers of every payload
export type WebhookOptions<Payload = any> = CommonOptions<Payload> & SecretOptions;

/** URL and API key for reports. */
export interface Api {
  /** URL without `/v1` and without a slash at the end. */
  baseUrl: string;
  /** API key of the account that owns the queue. */
  apiKey: string;
}

export interface Settings<Payload> {
  /** `standard` by default. */
  mode: 'standard' | 'ack';
  /** 2 MiB by default. */
  maxBodyBytes: number;
  /** Never throws. */
  onError: (error: unknown, job: DeliveredJob<unknown>) => void;
  /** Never throws. */
  onRefused: (refusal: Refusal) => void;
  /** Null when the option is missing. */
  schema: PayloadSchema<Payload> | null;
  /** False by default. */
  heartbeat: boolean;
  /** The second header has the signature of the next secret during a rotation. */
  signatureHeaders: readonly [string, string];
  /** `ackTimeout` in milliseconds; null when the option is missing. */
  ackTimeoutMs: number | null;
  /** @throws TypeError when there is no secret */
  secrets(): Promise<readonly string[]>;
  /**
   * Returns null when baseUrl or apiKey is missing: the delivery may have a report URL.
   * @throws TypeError when baseUrl is not a URL, or apiKey is none
   */
  api(): Promise<Api | null>;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;

export function readOptions<Payload>(options: WebhookOptions<Payload>): Settings<Payload> {
  const { mode = 'standard', ackTimeout, maxBodyBytes = MAX_BODY_BYTES } = options;
  const { signatureHeader = 'x-service-signature', heartbeat = false } = options;
  const { onError = logError, onRefused = createRefusalLog() } = options;
  if (ackTimeout !== undefined && !(ackTimeout > 0 && ackTimeout <= 86_400)) {
    throw new TypeError('ackTimeout must be a number of seconds, at most 86 400');
  }
  if (heartbeat && mode !== 'ack') throw new TypeError("heartbeat needs mode 'ack'");
  return {
    mode,
    maxBodyBytes,
    onError: (error, job) => calledSafely(() => onError(error, job)),
    onRefused: (refusal) => calledSafely(() => onRefused(refusal)),
    schema: options.schema ?? null,
    heartbeat,
    signatureHeaders: [signatureHeader.toLowerCase(), `${signatureHeader.toLowerCase()}-next`],
    // Timers take whole milliseconds.
    ackTimeoutMs: ackTimeout === undefined ? null : Math.max(1, Math.floor(ackTimeout * 1000)),
    secrets: async () => {
      const secrets = options.secrets === undefined ? [await given(options.secret)] : await given(options.secrets);
      if (!Array.isArray(secrets) || secrets.length === 0 || !secrets.every(isText)) {
        throw new TypeError('secret or secrets is missing: use the signingSecret from the creation of the queue');
      }
      return secrets;
    },
    api: async () => {
      const [baseUrl, apiKey] = [await given(options.baseUrl), await given(options.apiKey)];
      if (isText(baseUrl) && isText(apiKey)) return { baseUrl: toBaseUrl(baseUrl), apiKey: toApiKey(apiKey) };
      return null;
    },
  };
}

async function given<Value>(late: Late<Value> | undefined): Promise<Value | undefined> {
  return typeof late === 'function' ? (late as () => Value | Promise<Value>)() : late;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A stranger's request must not end the process because a callback throws or rejects. */
function calledSafely(call: () => unknown): void {
  const log = (error: unknown) => console.error('a callback of the webhook handler failed:', error);
  new Promise((resolve) => resolve(call())).catch(log);
}

function logError(error: unknown, { id, queue, attempt }: DeliveredJob<unknown>): void {
  console.error(`job ${id} of ${queue}, attempt ${attempt}:`, error);
}
