import type { WakeRow } from './model/tables.ts';
import type { Simulation } from './simulation.ts';

/**
 * The wake-ups, in place of graphile-worker: some process takes a row within the second in which it is
 * due. A row may be lost, found twice, or taken by a process that dies before it does anything.
 */
export class WakeUps {
  readonly #simulation: Simulation;
  readonly #reached: (state: string) => void;

  constructor(simulation: Simulation, reached: (state: string) => void) {
    this.#simulation = simulation;
    this.#reached = reached;
  }

  /** Carries the notification of a row that was just written. */
  carry(row: WakeRow): void {
    const { random, scheduler, tables } = this.#simulation;
    const { lostWakeUps, doubledWakeUps } = this.#simulation.isHealed
      ? { lostWakeUps: 0, doubledWakeUps: 0 }
      : this.#simulation.options.faults;
    if (random.chance(lostWakeUps)) {
      tables.wakes.delete(row.key);
      this.#reached('a wake-up is lost');
      return;
    }
    const inMs = row.runAt - tables.clock() + random.next() * (random.chance(0.5) ? 20 : 1000);
    scheduler.after(inMs, null, row.key, () => this.#take(row));
    if (random.chance(doubledWakeUps)) {
      scheduler.after(inMs + random.next() * 500, null, `${row.key} again`, () => this.#give(row));
    }
  }

  #take(row: WakeRow): void {
    const { scheduler, tables, server } = this.#simulation;
    if (tables.wakes.get(row.key) !== row) return;
    const isTaken = server.isUp && this.#give(row);
    if (isTaken) tables.wakes.delete(row.key);
    else scheduler.after(1000, null, row.key, () => this.#take(row));
  }

  #give({ key, task, queueId }: WakeRow): boolean {
    const process = this.#simulation.anyProcess();
    if (process === null) return false;
    this.#simulation.scheduler.after(0, process, `takes ${key}`, () => {
      if (task === 'deliver') process.dispatcher.wake(queueId);
      else void process.deadlines.check(queueId);
    });
    return true;
  }
}
