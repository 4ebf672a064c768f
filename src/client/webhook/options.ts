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
   * when the other process has it, and that process reports with `jobferry/client`.
   */
  mode?: 'standard' | 'ack';
  /** Where Jobferry is, without `/v1`; for ack, nack and defer. */
  baseUrl?: string;
  /** For ack, nack and defer. */
  apiKey?: string;
  /** Larger bodies are answered with 413; 2 MiB by default, twice what the service takes by default. */
  maxBodyBytes?: number;
  /** The service's `SIGNATURE_HEADER`, when it is not `x-service-signature`. */
  signatureHeader?: string;
  /** What the function throws (not `Backpressure`), and reports that fail; `console.error` by default. */
  onError?: (error: unknown, job: DeliveredJob<unknown>) => void;
}

type SecretOptions =
  | { /** The queue's `signingSecret`. */ secret: string; secrets?: never }
  | { /** One for each queue with this webhook, or both of a rotation. */ secrets: readonly string[]; secret?: never };

export type WebhookOptions = CommonOptions & SecretOptions;

export interface Settings extends Required<Pick<CommonOptions, 'mode' | 'maxBodyBytes' | 'onError'>> {
  secrets: readonly string[];
  /** The second one carries the next secret's signature while a secret is being rotated. */
  signatureHeaders: readonly [string, string];
  /** Null when baseUrl or apiKey is not given. */
  api: { baseUrl: string; apiKey: string } | null;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** Wrong options end the start, not the first delivery. */
export function readOptions(options: WebhookOptions): Settings {
  const { mode = 'standard', baseUrl, apiKey, maxBodyBytes = MAX_BODY_BYTES } = options;
  const { signatureHeader = 'x-service-signature', onError = logError } = options;
  const secrets = options.secrets ?? [options.secret];
  if (secrets.length === 0 || !secrets.every((secret) => typeof secret === 'string' && secret !== '')) {
    throw new TypeError('secret or secrets is missing: give the signingSecret that creating the queue answered');
  }
  const api = baseUrl && apiKey ? { baseUrl, apiKey } : null;
  if (mode === 'ack' && api === null) throw new TypeError("mode 'ack' needs baseUrl and apiKey");
  const signatureHeaders = [signatureHeader.toLowerCase(), `${signatureHeader.toLowerCase()}-next`] as const;
  return { mode, secrets, maxBodyBytes, onError, signatureHeaders, api };
}

function logError(error: unknown, { id, queue, attempt }: DeliveredJob<unknown>): void {
  console.error(`job ${id} of ${queue}, attempt ${attempt}:`, error);
}
