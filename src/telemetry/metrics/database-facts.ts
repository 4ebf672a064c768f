import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/connection/database.ts';
import type { Listener } from '../../db/connection/notifications.ts';
import {
  type MeasuredQueue,
  measuredQueues,
  measuresOfOthers,
  measuresOfQueues,
  measuresOfService,
  type OwnMeasures,
  type QueueMeasures,
  type ServiceMeasures,
} from '../../db/insight/measures.ts';
import { measuresOfServer, type ServerMeasures } from '../../db/insight/server-measures.ts';

/** The page does not wait longer for the database. */
const ANSWER_MS = 1000;
/** Time limit of each statement. They use the connections of dashboards, in turns with the accounts. */
const STATEMENT_MS = 1000;
const TURN = 'metrics';
/** The facts about the server, beside the page: the size of a database is read from the files of all its tables. */
const OF_SERVER = { turn: 'metrics of the server', maxMs: 15_000 };
/** Facts are read again when they are older. */
const FRESH_MS = 10_000;
/**
 * Facts about the server change slowly: they are read again when they are older,
 * and the last ones are shown for longer.
 */
const SERVER = { freshMs: 60_000, staleMs: 180_000 };
/** Older facts are not shown: an age that no longer grows looks like a queue that is being emptied. */
const STALE_MS = 30_000;
/** The process that shows the facts gives them up if nothing has read its page for this long. */
const UNREAD_MS = 150_000;
/** Name of the lock of the process that shows the facts. */
const TELLER = 'jobferry metrics';

/** Facts about the database, shown by one process. */
export interface Facts {
  named: readonly MeasuredQueue[];
  own: readonly OwnMeasures[];
  others: QueueMeasures;
  service: ServiceMeasures;
}

interface DatabaseFactsOptions {
  db: Database;
  listener: Pick<Listener, 'lock' | 'holds' | 'unlock'>;
  retentionMs: number;
  /** Queues with series of their own; 0 for none. */
  maxQueues: number;
}

/**
 * The facts about the database on the page. Every process with a page reads which queues have series of their own.
 * Facts about the database are shown by one process only, the first whose page is read, so that sums over the processes
 * are right.
 */
export class DatabaseFacts {
  readonly #options: DatabaseFactsOptions;
  readonly #db: Database;
  #running: Promise<readonly MeasuredQueue[]> | null = null;
  /** The queues with series of their own, as last read. */
  #named: readonly MeasuredQueue[] = [];
  #facts: { facts: Facts; readAt: number } | null = null;
  #server: { measures: ServerMeasures; readAt: number } | null = null;
  #readingServer = false;
  /** Ends the turn of this process when its page is no longer read. */
  #unread: NodeJS.Timeout | null = null;

  constructor(options: DatabaseFactsOptions) {
    this.#options = options;
    this.#db = options.db.reading(TURN, { maxMs: STATEMENT_MS });
  }

  /**
   * Reads what is needed for a page, and waits for it for a second.
   * @returns the queues with series of their own; null if the database did not answer in time
   */
  async refresh(): Promise<readonly MeasuredQueue[] | null> {
    this.#running ??= this.#read().finally(() => {
      this.#running = null;
    });
    const late = new AbortController();
    const timeOut = sleep(ANSWER_MS, null, { ref: false, signal: late.signal }).catch(() => null);
    const named = await Promise.race([this.#running.catch(() => null), timeOut]);
    late.abort();
    return named;
  }

  /** The facts, if this process is the one that shows them. */
  get facts(): Facts | null {
    if (this.#facts === null || !this.#options.listener.holds(TELLER)) return null;
    const { facts, readAt } = this.#facts;
    if (performance.now() - readAt > STALE_MS) return null;
    // Queues may have lost their series since: together with those of other queues there would be too many.
    const shown = new Set(this.#named.map(({ id }) => id));
    return { ...facts, own: facts.own.filter(({ id }) => shown.has(id)) };
  }

  /**
   * The facts about the server, as for `facts`. They do not need the tables of jobs,
   * which another session may have locked.
   */
  get server(): ServerMeasures | null {
    if (this.#server === null || !this.#options.listener.holds(TELLER)) return null;
    return performance.now() - this.#server.readAt > SERVER.staleMs ? null : this.#server.measures;
  }

  stop(): void {
    if (this.#unread !== null) clearTimeout(this.#unread);
  }

  async #read(): Promise<readonly MeasuredQueue[]> {
    const { listener, maxQueues, retentionMs } = this.#options;
    // Without names there is nothing to read for them, but the page shows whether the database answers.
    const named = await measuredQueues(this.#db, maxQueues);
    this.#keepTurn();
    if (await listener.lock(TELLER)) {
      this.#readServer();
      const readAt = performance.now();
      if (this.#facts === null || readAt - this.#facts.readAt > FRESH_MS) {
        const ids = named.map(({ id }) => id);
        const own = await measuresOfQueues(this.#db, ids);
        const others = await measuresOfOthers(this.#db, ids);
        const service = await measuresOfService(this.#db, retentionMs);
        this.#facts = { facts: { named, own, others, service }, readAt };
      }
    } else {
      this.#facts = null;
      this.#server = null;
    }
    this.#named = named;
    return named;
  }

  /** For a later page: no page waits for a slow disk. After a failure the former facts are shown. */
  #readServer(): void {
    const readAt = performance.now();
    if (this.#readingServer || (this.#server !== null && readAt - this.#server.readAt < SERVER.freshMs)) return;
    this.#readingServer = true;
    measuresOfServer(this.#options.db.reading(OF_SERVER.turn, { maxMs: OF_SERVER.maxMs }))
      .then((measures) => {
        this.#server = { measures, readAt };
      })
      .catch(() => undefined)
      .finally(() => {
        this.#readingServer = false;
      });
  }

  #keepTurn(): void {
    if (this.#unread !== null) clearTimeout(this.#unread);
    this.#unread = setTimeout(() => {
      // A lock that cannot be released ends with its connection.
      this.#options.listener.unlock(TELLER).catch(() => undefined);
    }, UNREAD_MS);
    this.#unread.unref();
  }
}
