/** The counts of one line, or of one error's stack, in its current period. */
interface Repeated {
  printed: number;
  leftOut: number;
  /** Start of the period, by `performance.now()`. */
  since: number;
}

interface RepeatsOptions {
  periodMs: number;
  /** Most equal lines in one period. */
  most: number;
  /** Called at the end of a period with the number of lines that were left out. */
  onLeftOut(message: string, count: number): void;
}

/** Most lines and stacks that are counted at once. Above it, all counts start again. */
const MAX_KNOWN = 500;

/**
 * Limits equal lines: an outage causes hundreds of them per second, which must not fill a disk. A few equal lines are
 * shown, then one with the number of the others. An error's stack is shown once.
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
    if (line.leftOut === 1) this.#reportLater(message, line);
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

  #reportLater(message: string, line: Repeated): void {
    const { periodMs, onLeftOut } = this.#options;
    const endsInMs = Math.max(line.since + periodMs - performance.now(), 0);
    setTimeout(() => onLeftOut(message, line.leftOut), endsInMs).unref();
  }
}
