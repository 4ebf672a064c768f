/**
 * Why a request has no result. `signed-out`: there is no session any more. `refused`: the same request will be refused
 * again. `busy`: the server or a limit says to try later. `server`: the server failed. `network`: there was no answer.
 * `version`: a process of another version answered, as during a rolling upgrade.
 */
type FailureKind = 'signed-out' | 'refused' | 'busy' | 'server' | 'network' | 'version';

/** The answer to an action did not come. */
export const LOST = 'No answer came. The change may have been applied.';

/** Without a "Not saved: " before it: that is not known. */
export const trueText = (text: string) => (text.endsWith(LOST) ? LOST : text);

export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** By the page's clock of the server, in milliseconds. */
  readonly at: number;
  readonly kind: FailureKind;
  /** Status code of the answer; null if there was none. */
  readonly status: number | null;
  /** From `Retry-After`; null if the server named no time. */
  readonly retryAfterMs: number | null;
  /** When the request is sent again; null if it is not. */
  nextTryAt: number | null = null;

  constructor(
    kind: FailureKind,
    message: string,
    { at, status = null, retryAfterMs = null }: { at: number; status?: number | null; retryAfterMs?: number | null },
  ) {
    super(message);
    this.kind = kind;
    this.at = at;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may succeed in a moment. */
  get passes(): boolean {
    return this.kind !== 'signed-out' && this.kind !== 'refused';
  }
}

export function kindOfStatus(status: number): FailureKind {
  if (status === 401) return 'signed-out';
  if (status === 429 || status === 503) return 'busy';
  return status >= 500 ? 'server' : 'refused';
}

const RETRY = { firstMs: 1000, maxMs: 30_000 };

/** Time until the next try: doubled from 1 s to 30 s, or as long as the server asked for. */
export function retryDelayMs(failures: number, error: RequestError): number {
  return Math.max(Math.min(RETRY.firstMs * 2 ** failures, RETRY.maxMs), error.retryAfterMs ?? 0);
}
