import type { Random } from './random.ts';

/** The process that an event belongs to; null for the world around the processes. */
export interface Host {
  readonly name: string;
  /** Its events wait, as timers and answers do for a stopped process. */
  frozen: boolean;
  /** How often it was frozen. */
  freezes: number;
  /** Its events never come any more. */
  dead: boolean;
  /** Its `performance.now()` at time 0: the clocks of processes have nothing in common. */
  readonly clockOrigin: number;
  /** Events that came while it was frozen. */
  readonly stash: Event[];
}

export interface Event {
  at: number;
  order: number;
  host: Host | null;
  label: string;
  run(): void;
  cancelled: boolean;
}

export type Timer = Pick<Event, 'cancelled'>;

// The real clock and timers, which other tests and vitest itself go on using.
const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  random: Math.random,
};

/**
 * Simulated time: a queue of events, run one by one in the order of their moments. Before the next event, all
 * continuations of settled promises run. While it runs, the clocks, timers and chance of this process are
 * the scheduler's, so the code of `src` runs on them unchanged. A timer belongs to the process whose
 * event set it.
 */
export class Scheduler {
  /** Milliseconds since the start. */
  now = 0;
  events = 0;
  readonly random: Random;
  readonly trace: ((line: string) => void) | null;
  /** The first thing that should not have happened. */
  failure: unknown = null;
  #current: Host | null = null;
  #heap: Event[] = [];
  #order = 0;

  constructor(random: Random, trace: ((line: string) => void) | null) {
    this.random = random;
    this.trace = trace;
  }

  at(moment: number, host: Host | null, label: string, run: () => void): Timer {
    this.#order += 1;
    const event = { at: Math.max(moment, this.now), order: this.#order, host, label, run, cancelled: false };
    this.#push(event);
    return event;
  }

  after(ms: number, host: Host | null, label: string, run: () => void): Timer {
    return this.at(this.now + ms, host, label, run);
  }

  freeze(host: Host): void {
    host.frozen = true;
    host.freezes += 1;
  }

  /** Events that came while it was frozen come now, in any order. */
  thaw(host: Host): void {
    host.frozen = false;
    for (const event of host.stash.splice(0)) {
      event.at = this.now + this.random.next() * 5;
      this.#push(event);
    }
  }

  kill(host: Host): void {
    host.dead = true;
    host.stash.length = 0;
  }

  /** Ends the run; for where throwing would be taken for a fault of the outside world. */
  fail(error: unknown): void {
    this.failure ??= error;
  }

  /** The next event; false when there is none. */
  step(): boolean {
    for (let event = this.#pop(); event !== undefined; event = this.#pop()) {
      if (event.cancelled || event.host?.dead) continue;
      if (event.host?.frozen) {
        event.host.stash.push(event);
        continue;
      }
      this.now = event.at;
      this.events += 1;
      this.#current = event.host;
      this.trace?.(`${event.host?.name ?? 'world'}: ${event.label}`);
      event.run();
      return true;
    }
    return false;
  }

  install(): void {
    const timer = (run: (...args: never[]) => void, ms: number, args: never[], label: string) =>
      // A timer is never early, and a busy process is late.
      this.after(ms + this.random.next() * 2, this.#current, label, () => run(...args));
    Object.assign(globalThis, {
      setTimeout: (run: (...args: never[]) => void, ms = 0, ...args: never[]) =>
        timer(run, Math.max(1, ms), args, 'timer'),
      clearTimeout: (event: Timer | undefined | null) => {
        if (event) event.cancelled = true;
      },
      setImmediate: (run: (...args: never[]) => void, ...args: never[]) =>
        this.at(this.now, this.#current, 'next turn', () => run(...args)),
    });
    Math.random = () => this.random.next();
    performance.now = () => (this.#current?.clockOrigin ?? 0) + this.now;
  }

  uninstall(): void {
    const { random, ...timers } = real;
    Object.assign(globalThis, timers);
    Math.random = random;
    // Back to the method of its prototype.
    Reflect.deleteProperty(performance, 'now');
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(event);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent] as Event;
      if (!isBefore(event, above)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      const below = heap[child] as Event;
      if (!isBefore(below, last)) break;
      heap[i] = below;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/**
 * Runs all continuations of settled promises. Node has no public function for that; this one exists since
 * its first versions. Without it a turn of the event loop does the same, more slowly.
 */
const drain = (process as { _tickCallback?: () => void })._tickCallback;

/** Calls `step` until it returns that it was the last one. */
export function drive(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const turn = () => {
      try {
        let goesOn = true;
        while (goesOn) {
          goesOn = step();
          if (drain !== undefined) drain();
          else if (goesOn) return void real.setImmediate(turn);
        }
        real.setImmediate(resolve);
      } catch (error) {
        // Remaining work must not go on under another run's clock.
        drain?.();
        real.setImmediate(reject, error);
      }
    };
    real.setImmediate(turn);
  });
}
