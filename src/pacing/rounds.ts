/**
 * Runs rounds of work, one at a time: work that arrives during a round is done together in the next one. The first
 * round begins one turn of the event loop after `begin`, so that work that is read from several sockets in one turn is
 * done together.
 */
export class Rounds {
  readonly #hasWork: () => boolean;
  readonly #round: () => Promise<void>;
  #running: Promise<void> | null = null;

  /** @param round must handle its errors */
  constructor(hasWork: () => boolean, round: () => Promise<void>) {
    this.#hasWork = hasWork;
    this.#round = round;
  }

  /** Starts rounds until no work is left. Does nothing while rounds are running. */
  begin(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when no round is running. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#hasWork()) await this.#round();
    // In the same turn as the last check: work that is added later must begin new rounds.
    this.#running = null;
  }
}
