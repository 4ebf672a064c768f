/** A failure says something about now only for so long: what failed once may not be tried again for hours. */
const COUNTS_MS = 10_000;

/** How the last try of something went. */
export class LastTry {
  #failedAt: number | null = null;

  succeeds(): void {
    this.#failedAt = null;
  }

  fails(): void {
    this.#failedAt = performance.now();
  }

  /** Whether the last try failed, lately. */
  get failed(): boolean {
    return this.#failedAt !== null && performance.now() - this.#failedAt < COUNTS_MS;
  }
}
