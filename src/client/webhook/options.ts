import { toBaseUrl } from '../exchange.ts';
import type { DeliveredJob } from './delivery.ts';

interface CommonOptions {
  /**
   * Of the queue. `standard`: the delivery is answered when the function is done, 200 for success, 500
   * when it throws, 429 for `Backpressure`. Jobferry waits 15 s.
   *
   * `ack`: the delivery is answered with 202 at once, then the function runs for as long as `ackTimeout`,
   * and what becomes of it is reported: success as ack, what it throws as nack, `Backpressure` as defer;
   * unless the function reports itself. Needs `baseUrl` and `apiKey`.
   *
   * To hand a job of a queue in ack mode to another process, leave `standard`: the function resolves
   * when the other process has it, and that process reports with `@jobferry/client`.
   */
  mode?: 'standard' | 'ack';
  /** Where Jobferry is, without `/v1`; for ack, nack and defer. */
  baseUrl?: Late<string>;
  /** For ack, nack and defer. */
  apiKey?: Late<string>;
  /**
   * Seconds, as the queue has it, counted from when the delivery came in. With it `signal` is aborted when they have
   * passed, and a report that does not get through is repeated until then; without it for five minutes.
   */
  ackTimeout?: number;
  /** Larger bodies are answered with 413; 2 MiB by default, twice what the service takes by default. */
  maxBodyBytes?: number;
  /** The service's `SIGNATURE_HEADER`, when it is not `x-service-signature`. */
  signatureHeader?: string;
  /** What the function throws (not `Backpressure`), and reports that fail; `console.error` by default. */
  onError?: (error: unknown, job: DeliveredJob<unknown>) => void;
}

/**
 * A function is asked at each delivery, so the value may come from a secret store or change. Whatever is missing is
 * said at the first delivery, with a 500, and not when the handler is made: frameworks load it while they build, where
 * there are no secrets.
 */
export type Late<Value> = Value | (() => Value | Promise<Value>);

type SecretOptions =
  | { /** The queue's `signingSecret`. */ secret: Late<string>; secrets?: never }
  | {
      /** One for each queue with this webhook, or both of a rotation. */
      secrets: Late<readonly string[]>;
      secret?: never;
    };

/** Options of every handler. */
export type WebhookOptions = CommonOptions & SecretOptions;

/** Where and as which account reports are sent. */
export interface Api {
  /** Without `/v1` and without a slash at the end. */
  baseUrl: string;
  /** Of the account that owns the queue. */
  apiKey: string;
}

export interface Settings extends Required<Pick<CommonOptions, 'mode' | 'maxBodyBytes' | 'onError'>> {
  /** The second one carries the next secret's signature while a secret is being rotated. */
  signatureHeaders: readonly [string, string];
  /** Milliseconds; null when it is not known. */
  ackTimeoutMs: number | null;
  /** @throws TypeError when there is none */
  secrets(): Promise<readonly string[]>;
  /**
   * Null when baseUrl or apiKey is not given.
   * @throws TypeError when one is needed, or baseUrl is no URL
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
        throw new TypeError('secret or secrets is missing: give the signingSecret that creating the queue answered');
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
