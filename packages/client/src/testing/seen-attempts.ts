/** An attempt of a delivery that has ended. */
export interface SeenAttempt {
  /** Id of the job. */
  jobId: string;
  /** Name of the queue. */
  queue: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Status code of the receiver's answer; null if there was none. */
  statusCode: number | null;
  /** The short name of the failure if there was no answer, such as `timeout`; null otherwise. */
  error: string | null;
  /** Milliseconds from the request to the answer. */
  durationMs: number;
  /** Beginning of the answer's body; null without one. */
  answer: string | null;
}

/** Properties that must agree; others do not matter. */
type AttemptPattern = { [Name in keyof SeenAttempt]?: SeenAttempt[Name] | undefined };

/** The attempts that one test sees. */
export interface Watched {
  /** Waits for the first attempt that agrees and was not returned before. */
  next(pattern: AttemptPattern, timeoutMs: number): Promise<SeenAttempt>;
  /** Sees no further attempts. */
  end(): void;
}

/** An attempt, as the server prints it. */
export type PrintedAttempt = SeenAttempt & { accountId: string };

/** Hands each attempt to the tests that watch its account. */
export class SeenAttempts {
  readonly #watchers = new Set<(attempt: PrintedAttempt) => void>();

  /** Hands an attempt to all that watch. */
  add(attempt: PrintedAttempt): void {
    for (const watcher of this.#watchers) watcher(attempt);
  }

  /** Returns the attempts of an account that end from now on. */
  watch(account: string): Watched {
    const seen: SeenAttempt[] = [];
    const waiting = new Set<() => void>();
    const watcher = ({ accountId, ...attempt }: PrintedAttempt) => {
      if (accountId !== account) return;
      seen.push(attempt);
      for (const look of waiting) look();
    };
    this.#watchers.add(watcher);
    return {
      end: () => void this.#watchers.delete(watcher),
      next: (pattern, timeoutMs) =>
        new Promise((resolve, reject) => {
          const look = () => {
            const at = seen.findIndex((attempt) => agrees(attempt, pattern));
            const [found] = at === -1 ? [] : seen.splice(at, 1);
            if (found === undefined) return;
            clearTimeout(timer);
            waiting.delete(look);
            resolve(found);
          };
          const timer = setTimeout(() => {
            waiting.delete(look);
            reject(
              new Error(`no delivery with ${JSON.stringify(pattern)} ended within ${timeoutMs} ms. ${others(seen)}`),
            );
          }, timeoutMs);
          waiting.add(look);
          look();
        }),
    };
  }
}

function agrees(attempt: SeenAttempt, pattern: AttemptPattern): boolean {
  return Object.entries(pattern).every(
    ([name, value]) => value === undefined || attempt[name as keyof SeenAttempt] === value,
  );
}

const MAX_NAMED = 10;

function others(seen: readonly SeenAttempt[]): string {
  if (seen.length === 0) return 'None ended.';
  const last = seen.slice(-MAX_NAMED).map(({ queue, jobId, attempt, statusCode, error }) => {
    return `${queue} ${jobId} attempt ${attempt}: ${statusCode ?? error}`;
  });
  return `These ended: ${last.join('; ')}.`;
}
