/**
 * Runs rounds of work, one at a time: what arrives during a round is done together in the next. The first round begins a
 * turn of the event loop after `begin`, so that what is read from sockets together is done together.
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

  /** Does nothing while rounds are running: they go on until no work is left. */
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
