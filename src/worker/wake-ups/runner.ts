import { EventEmitter } from 'node:events';
import {
  Logger as GraphileLogger,
  type ParsedCronItem,
  type Runner,
  run,
  runMigrations,
  type WorkerEvents,
} from 'graphile-worker';
import { type Address, createPool } from '../../db/connection/address.ts';
import type { Database } from '../../db/connection/database.ts';
import { UNLIMITED } from '../../db/connection/keep-alive.ts';
import { DatabaseAway } from '../../domain/errors.ts';
import { pause, untilSuccess } from '../../pacing/retry.ts';
import type { Logger } from '../../telemetry/log.ts';
import { withoutCronErrors } from './cron.ts';
import type { Tasks } from './tasks.ts';

/** Each of them polls. The tasks only start something, so one is enough. */
const CONCURRENCY = 1;
/** Durable wake-ups fire a second early (`jobferry_wake`), so polling once a second is in time. */
const POLL_INTERVAL_MS = 1000;
const RESTART_MS = 500;
/** Lines of the library about a connection that is lost, or cannot be made. */
const OF_CONNECTION = /^Error (?:with notify listener|occurred attempting to UNLISTEN)/;

/** Installs graphile-worker's own schema. */
export async function installWakeUps(url: Address): Promise<void> {
  const pool = createPool(url, { max: 2, application_name: 'jobferry migrate', options: UNLIMITED });
  // The running statement fails, which is enough.
  const ignore = () => undefined;
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  try {
    await runMigrations({ pgPool: pool, logger: new GraphileLogger(() => () => undefined) });
  } finally {
    await pool.end();
  }
}

/**
 * Runs graphile-worker, which stores and delivers the durable wake-ups. Its runner can end by itself, even without an
 * error, when its connections are lost. It is then replaced by a new one. Meanwhile the reconciler finds the work.
 */
export class WakeUpRunner {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #tasks: Tasks;
  readonly #schedule: ParsedCronItem[];
  #runner: Runner | null = null;
  readonly #stopping = new AbortController();
  #done: Promise<void> = Promise.resolve();

  /**
   * graphile-worker deletes a finished row without awaiting the query. If the connection is lost just then, the
   * rejection is unhandled and would end the process. Ignoring it is safe: the row of a used wake-up stays behind.
   * graphile-worker's batching mode would handle the error, but its runner could then never stop.
   */
  readonly #onUnhandledRejection = (error: unknown): void => {
    // Any other rejection ends the process, as it would without this handler.
    if (!(error instanceof Error && error.stack?.includes('graphile-worker'))) throw error;
    this.#log.warn({ err: error }, 'the row of a used wake-up could not be deleted');
  };

  constructor(db: Database, log: Logger, tasks: Tasks, schedule: ParsedCronItem[]) {
    this.#db = db;
    this.#log = log;
    this.#tasks = tasks;
    this.#schedule = schedule;
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
      this.#log.warn('the wake-up runner ended; another one is started');
      this.#runner = await untilSuccess(() => this.#run(), {
        signal,
        waitMs: () => RESTART_MS,
        onFailure: (error) =>
          this.#log.warn({ err: error }, 'the wake-up runner could not be started; this will be retried'),
      });
      // `stop` may have been called during the start, and did not see this runner.
      if (signal.aborted) await this.#runner?.stop().catch(() => undefined);
    }
  }

  #run(): Promise<Runner> {
    // The library logs neither: it tries again by itself, for as long as it fails. Equal lines of the log are left out.
    const events: WorkerEvents = new EventEmitter();
    events.on('worker:getJob:error', ({ error }) => {
      this.#log.warn({ err: error }, 'a wake-up could not be taken; this will be retried');
    });
    events.on('worker:fatalError', ({ error }) => {
      this.#log.warn({ err: error }, 'the end of a wake-up could not be written; it will be repeated');
    });
    return run({
      events,
      pgPool: withoutCronErrors(this.#db.sessionPool, this.#log),
      taskList: { ...this.#tasks },
      parsedCronItems: this.#schedule,
      concurrency: CONCURRENCY,
      pollInterval: POLL_INTERVAL_MS,
      noHandleSignals: true,
      noPreparedStatements: false,
      logger: new GraphileLogger(() => (level, message) => {
        if (level === 'error' || level === 'warning') {
          // It has no other sign that its connection is gone, and tries again by itself.
          const away = OF_CONNECTION.test(message) ? { err: new DatabaseAway('nothing', new Error(message)) } : {};
          this.#log.warn({ library: 'graphile-worker', ...away }, message);
        } else this.#log.trace({ library: 'graphile-worker' }, message);
      }),
    });
  }
}
