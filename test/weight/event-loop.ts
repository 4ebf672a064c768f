import { drive } from '../simulation/scheduler.ts';

/** Duration of a turn on the clock of the loop. */
const TURN_MS = 0.5;
/** A run that is longer has lost work. */
const MAX_TURNS = 200_000;

type Work = () => void;

interface Timer {
  at: number;
  run: Work | null;
}

/**
 * An event loop whose turns take a fixed time. As that of Node, a turn runs the timers that are due, then the answers
 * that have arrived, then what `setImmediate` was called with before; after each of them, all continuations of settled
 * promises. So how many outcomes share a statement does not depend on the speed of the machine.
 */
export class EventLoop {
  turn = 0;
  readonly #answers = new Map<number, Work[]>();
  #timers: Timer[] = [];
  #immediates: Work[] = [];
  /** The rest of the present turn. */
  #present: Work[] = [];
  #phase = 0;

  /** Resolves after so many turns, as the answer of another process would. */
  answer<T>(turns: number, value: T): Promise<T> {
    return new Promise((resolve) => {
      const at = this.turn + turns;
      const sameTurn = this.#answers.get(at);
      if (sameTurn === undefined) this.#answers.set(at, [() => resolve(value)]);
      else sameTurn.push(() => resolve(value));
    });
  }

  /**
   * Runs `begin` and all turns after it until `isDone`. Timers and `performance.now` are those of the loop meanwhile.
   */
  async run(begin: Work, isDone: () => boolean): Promise<void> {
    const restore = this.#install();
    this.#present.push(begin);
    try {
      await drive(() => {
        if (isDone()) return false;
        this.#step();
        return true;
      });
    } finally {
      restore();
    }
  }

  #step(): void {
    while (this.#present.length === 0) this.#nextPhase();
    this.#present.shift()?.();
  }

  #nextPhase(): void {
    this.#phase = (this.#phase + 1) % 3;
    if (this.#phase === 0) {
      this.turn += 1;
      if (this.turn > MAX_TURNS) throw new Error(`the work was not done after ${MAX_TURNS} turns of the event loop`);
      const now = this.turn * TURN_MS;
      const due = this.#timers.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
      this.#timers = this.#timers.filter(({ at }) => at > now);
      // One of them may clear a later one.
      this.#present = due.map((timer) => () => timer.run?.());
    } else if (this.#phase === 1) {
      this.#present = this.#answers.get(this.turn) ?? [];
      this.#answers.delete(this.turn);
    } else {
      this.#present = this.#immediates.splice(0);
    }
  }

  #install(): () => void {
    const { setTimeout, clearTimeout, setImmediate } = globalThis;
    Object.assign(globalThis, {
      setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer => {
        const timer = { at: this.turn * TURN_MS + Math.max(1, ms), run: () => run(...args) };
        this.#timers.push(timer);
        return timer;
      },
      clearTimeout: (timer: Timer | null | undefined) => {
        if (timer) timer.run = null;
      },
      setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) => {
        this.#immediates.push(() => run(...args));
      },
    });
    performance.now = () => this.turn * TURN_MS;
    return () => {
      Object.assign(globalThis, { setTimeout, clearTimeout, setImmediate });
      // Back to the method of its prototype.
      Reflect.deleteProperty(performance, 'now');
    };
  }
}
