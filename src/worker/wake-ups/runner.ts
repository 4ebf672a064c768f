import { Logger as GraphileLogger, type Runner, run, runMigrations } from 'graphile-worker';
import type { Database } from '../../db/connection/database.ts';
import type { Logger } from '../../log.ts';
import { pause, untilSuccess } from '../../pacing/retry.ts';
import type { Tasks } from './index.ts';

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
  readonly #stopping = new AbortController();
  #done: Promise<void> = Promise.resolve();

  /**
   * graphile-worker removes a finished row without waiting for the answer, so a connection that is
   * cut just then rejects where nobody can catch it, and that would end the process. The row only
   * stays behind: a hint that was used. Its batching mode would catch it, but can then never stop.
   */
  readonly #onUnhandledRejection = (error: unknown): void => {
    // Not ours to forgive: ends the process, as it would without this handler.
    if (!(error instanceof Error && error.stack?.includes('graphile-worker'))) throw error;
    this.#log.warn({ err: error }, 'a used wake-up could not be removed');
  };

  constructor(db: Database, log: Logger, tasks: Tasks) {
    this.#db = db;
    this.#log = log;
    this.#tasks = tasks;
  }

  get running(): boolean {
    return this.#runner !== null;
  }

  async start(): Promise<void> {
    process.on('unhandledRejection', this.#onUnhandledRejection);
    this.#runner = await this.#run();
    this.#done = this.#keepUp();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#runner?.stop().catch(() => undefined);
    await this.#done;
    process.off('unhandledRejection', this.#onUnhandledRejection);
  }

  async #keepUp(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#runner?.promise;
      } catch (error) {
        this.#log.warn({ err: error }, 'the wake-up runner failed');
      }
      this.#runner = null;
      await pause(RESTART_MS, signal);
      if (signal.aborted) return;
      this.#log.warn('the wake-up runner ended, starting another');
      this.#runner = await untilSuccess(() => this.#run(), {
        signal,
        waitMs: () => RESTART_MS,
        onFailure: (error) => this.#log.warn({ err: error }, 'the wake-up runner cannot be started yet'),
      });
      // A stop that came meanwhile has not seen this one.
      if (signal.aborted) await this.#runner?.stop().catch(() => undefined);
    }
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
