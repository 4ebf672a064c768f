/** Turns of the event loop that only accept connections, before one that does the work that waits. */
const ACCEPTING_TURNS = 32;

/**
 * Lets connections that wait to be accepted go first. Node accepts one of them in each turn of the event loop (libuv
 * 1.46 and later). If each turn did all the work that it finds, hundreds of new connections, and health checks behind
 * them, would wait for as many turns, which an overload makes long.
 */
export class Arrivals {
  #acceptedNow = false;
  #inRow = 0;
  #goFirst = false;
  #waiting: (() => void)[] = [];

  /** Whether work that can wait should be left to a later turn. True for `ACCEPTING_TURNS` turns in a row at most. */
  get goFirst(): boolean {
    return this.#goFirst;
  }

  /** To be called for each connection that was accepted. */
  note(): void {
    this.#acceptedNow = true;
    if (this.#inRow > 0) return;
    this.#inRow = 1;
    setImmediate(() => this.#endTurn());
  }

  /** Calls `work` now, or when connections have been accepted. Calls stay in order. */
  run(work: () => void): void {
    if (this.#goFirst) this.#waiting.push(work);
    else work();
  }

  #endTurn(): void {
    const wasFirst = this.#goFirst;
    this.#goFirst = this.#acceptedNow && (!wasFirst || this.#inRow < ACCEPTING_TURNS);
    if (this.#acceptedNow) {
      this.#inRow = this.#goFirst ? this.#inRow + 1 : 1;
      this.#acceptedNow = false;
      setImmediate(() => this.#endTurn());
    } else this.#inRow = 0;
    if (this.#goFirst) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const work of waiting) work();
  }
}

/** The arrivals of this process, which has one event loop. */
export const arrivals = new Arrivals();
