import { toBaseUrl } from '../exchange.ts';
import type { DeliveredJob } from './delivery.ts';

interface CommonOptions {
  /**
   * Mode of the queue; `standard` by default. In `standard`, the handler answers when the function has ended: 200 for
   * success, 500 when it throws, 429 for `Backpressure`. Jobferry waits 15 s for the answer.
   *
   * In `ack`, the handler answers 202 at once. Then the function may run for as long as `ackTimeout`, and the handler
   * reports its result: success as ack, an error as nack, `Backpressure` as defer. It reports nothing if the function
   * has reported itself. Needs `baseUrl` and `apiKey`.
   *
   * To pass a job of a queue in ack mode to another process, leave `standard`: the function resolves when the other
   * process has the job, and that process reports with `@jobferry/client`.
   */
  mode?: 'standard' | 'ack';
  /** URL of Jobferry without `/v1`, for ack, nack and defer. */
  baseUrl?: Late<string>;
  /** API key of the account that owns the queue, for ack, nack and defer. */
  apiKey?: Late<string>;
  /**
   * Seconds from the arrival of the delivery; the same as the queue's `ackTimeout`. When they have passed and the ack
   * deadline was not extended, `signal` is aborted. Without it, or with a key without the scope `read`, `signal` is
   * never aborted.
   */
  ackTimeout?: number;
  /**
   * Limit of a body in bytes; the handler answers 413 to larger ones. 2 MiB by default, twice the service's default.
   */
  maxBodyBytes?: number;
  /** Value of the service's `SIGNATURE_HEADER`; `x-service-signature` by default. */
  signatureHeader?: string;
  /** Receives errors of the function (except `Backpressure`) and of failed reports; `console.error` by default. */
  onError?: (error: unknown, job: DeliveredJob<unknown>) => void;
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

/** Options of every handler. */
export type WebhookOptions = CommonOptions & SecretOptions;

/** URL and API key for reports. */
export interface Api {
  /** URL without `/v1` and without a slash at the end. */
  baseUrl: string;
  /** API key of the account that owns the queue. */
  apiKey: string;
}

export interface Settings extends Required<Pick<CommonOptions, 'mode' | 'maxBodyBytes' | 'onError'>> {
  /** The second header has the signature of the next secret during a rotation. */
  signatureHeaders: readonly [string, string];
  /** `ackTimeout` in milliseconds; null when the option is missing. */
  ackTimeoutMs: number | null;
  /** @throws TypeError when there is no secret */
  secrets(): Promise<readonly string[]>;
  /**
   * Returns null when baseUrl or apiKey is missing.
   * @throws TypeError when the mode needs both, or when baseUrl is not a URL
   */
  api(): Promise<Api | null>;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;

export function readOptions(options: WebhookOptions): Settings {
  const { mode = 'standard', ackTimeout, maxBodyBytes = MAX_BODY_BYTES } = options;
  const { signatureHeader = 'x-service-signature', onError = logError } = options;
  if (ackTimeout !== undefined && !(ackTimeout > 0)) throw new TypeError('ackTimeout must be a number of seconds');
  return {
    mode,
    maxBodyBytes,
    onError,
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
      if (isText(baseUrl) && isText(apiKey)) return { baseUrl: toBaseUrl(baseUrl), apiKey };
      if (mode === 'ack') throw new TypeError("mode 'ack' needs baseUrl and apiKey");
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

function logError(error: unknown, { id, queue, attempt }: DeliveredJob<unknown>): void {
  console.error(`job ${id} of ${queue}, attempt ${attempt}:`, error);
}
