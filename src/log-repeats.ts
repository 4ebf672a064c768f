/** What a line is about, so far as repeating goes. */
interface Repeated {
  /** Of the present period. */
  printed: number;
  leftOut: number;
  since: number;
}

interface RepeatsOptions {
  periodMs: number;
  /** How many equal lines a period shows. */
  most: number;
  /** Told at the end of a period how many were left out. */
  onLeftOut(message: string, count: number): void;
}

/** Errors that differ in more ways than this begin to be counted anew. */
const MAX_KNOWN = 500;

/**
 * An outage says the same thing hundreds of times a second: it must not fill a disk. A few equal lines are shown, then
 * one that counts the others, and the stack of an error once.
 */
export class Repeats {
  readonly #options: RepeatsOptions;
  readonly #known = new Map<string, Repeated>();

  constructor(options: RepeatsOptions) {
    this.#options = options;
  }

  /**
   * @param cause text of the error
   * @returns what to show of the line: nothing, or the line with or without the stack of its error
   */
  show(message: string, cause: string): 'nothing' | 'line' | 'line and stack' {
    const { most } = this.#options;
    const line = this.#seen(`line ${message} ${cause}`);
    if (line.printed < most) {
      line.printed += 1;
      const stack = this.#seen(`stack ${cause}`);
      stack.printed += 1;
      return stack.printed === 1 ? 'line and stack' : 'line';
    }
    line.leftOut += 1;
    if (line.leftOut === 1) this.#tellLater(message, line);
    return 'nothing';
  }

  #seen(key: string): Repeated {
    const now = performance.now();
    const present = this.#known.get(key);
    if (present !== undefined && now - present.since < this.#options.periodMs) return present;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    const fresh = { printed: 0, leftOut: 0, since: now };
    this.#known.set(key, fresh);
    return fresh;
  }

  #tellLater(message: string, line: Repeated): void {
    const { periodMs, onLeftOut } = this.#options;
    const endsInMs = Math.max(line.since + periodMs - performance.now(), 0);
    setTimeout(() => onLeftOut(message, line.leftOut), endsInMs).unref();
  }
}
