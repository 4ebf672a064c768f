import { Logger as GraphileLogger, type Runner, run, runMigrations } from 'graphile-worker';
import type { Database } from '../db/database.ts';
import type { Logger } from '../log.ts';
import type { Tasks } from './tasks/index.ts';

/** Durable wake-ups fire a second early (`jobferry_wake`), so looking once a second is in time. */
const POLL_INTERVAL_MS = 1000;
const RESTART_MS = 500;

/** Installs graphile-worker's own schema. */
export async function installWakeUps(url: string): Promise<void> {
  await runMigrations({ connectionString: url, logger: new GraphileLogger(() => () => undefined) });
}

/**
 * Runs graphile-worker, which carries the wake-ups. Its runner can end by itself, even without an
 * error, when its connections die; then a new one takes over. Meanwhile the reconciler finds what
 * wake-ups would have told.
 */
export class WakeUpRunner {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #tasks: Tasks;
  #runner: Runner | null = null;
  #stopped = false;
  #done: Promise<void> = Promise.resolve();

  constructor(db: Database, log: Logger, tasks: Tasks) {
    this.#db = db;
    this.#log = log;
    this.#tasks = tasks;
  }

  get running(): boolean {
    return this.#runner !== null;
  }

  async start(): Promise<void> {
    this.#runner = await this.#run();
    this.#done = this.#keepUp();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#runner?.stop().catch(() => undefined);
    await this.#done;
  }

  async #keepUp(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#runner?.promise;
      } catch (error) {
        this.#log.warn({ err: error }, 'the wake-up runner failed');
      }
      this.#runner = null;
      while (!this.#stopped && this.#runner === null) {
        await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
        this.#log.warn('the wake-up runner ended, starting another');
        this.#runner = await this.#run().catch(() => null);
      }
    }
    if (this.#runner !== null) await this.#runner.stop().catch(() => undefined);
  }

  #run(): Promise<Runner> {
    return run({
      pgPool: this.#db.pool,
      taskList: { ...this.#tasks },
      concurrency: 4,
      pollInterval: POLL_INTERVAL_MS,
      noHandleSignals: true,
      noPreparedStatements: false,
      logger: new GraphileLogger(() => (level, message) => {
        if (level === 'error' || level === 'warning') this.#log.warn({ library: 'graphile-worker' }, message);
        else this.#log.trace({ library: 'graphile-worker' }, message);
      }),
    });
  }
}
