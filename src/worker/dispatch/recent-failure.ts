/** A failure counts for this long. The operation may not run again for hours, so an old failure proves nothing. */
const RECENT_MS = 10_000;

/** Whether the last run of an operation failed a short time ago. */
export class RecentFailure {
  #failedAt: number | null = null;

  clear(): void {
    this.#failedAt = null;
  }

  record(): void {
    this.#failedAt = performance.now();
  }

  get isRecent(): boolean {
    return this.#failedAt !== null && performance.now() - this.#failedAt < RECENT_MS;
  }
}
