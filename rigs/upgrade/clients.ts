import { setTimeout as wait } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';
import type { Build } from './build.ts';
import type { Load } from './load.ts';

/** Clients of one build: they publish, report and replay until they leave. */
export class Clients {
  readonly done = { rounds: 0, reports: 0, replays: 0 };
  readonly #work: Promise<void>;
  #isPublishing = true;
  #isOver = false;

  constructor(load: Load, build: Build) {
    this.#work = this.#run(load, build);
    // A test reads it when it waits for the clients, which may be later.
    this.#work.catch(() => undefined);
  }

  /** Reports and replays go on. */
  stopPublishing(): void {
    this.#isPublishing = false;
  }

  /** Ends all requests. @throws the failure of any request so far, or what was wrong with its result */
  leave(): Promise<void> {
    this.#isPublishing = false;
    this.#isOver = true;
    return this.#work;
  }

  /** Waits for a condition, unless a client fails. */
  static async waitFor(all: Clients[], condition: () => boolean | Promise<boolean>, message: string): Promise<void> {
    const met = waitFor(condition, { timeoutMs: 120_000, message });
    await Promise.race([met, ...all.map((clients) => clients.#work)]);
  }

  /** Waits until the clients of each build have done some more of everything. */
  static more(...all: Clients[]): Promise<void> {
    const goals = all.map(({ done: { rounds, reports, replays } }) => [rounds + 60, reports + 20, replays + 20]);
    const isDone = ({ done }: Clients, index: number) =>
      Object.values(done).every((count, kind) => count >= (goals[index]?.[kind] ?? 0));
    return Clients.waitFor(all, () => all.every(isDone), 'more rounds, reports and replays');
  }

  async #run(load: Load, build: Build): Promise<void> {
    const publishing = async () => {
      for (; this.#isPublishing; this.done.rounds += 1) await load.publishRound(build);
    };
    const repeat = async (one: () => Promise<boolean>, name: 'reports' | 'replays') => {
      while (!this.#isOver) {
        if (await one()) this.done[name] += 1;
        else await wait(20);
      }
    };
    await Promise.all([
      publishing(),
      repeat(() => load.reportOne(build), 'reports'),
      repeat(() => load.replayOne([build]), 'replays'),
    ]);
  }
}
