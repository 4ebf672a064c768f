import pg from 'pg';
import { Distribution, SECONDS } from '../../counts/distribution.ts';
import { JobferryError, unavailable } from '../../domain/errors.ts';
import { AbandonedSessions } from './abandoned-sessions.ts';
import type { DatabaseLog } from './database-log.ts';
import { KEEP_ALIVE } from './keep-alive.ts';
import type { OriginGuard } from './origin.ts';

/**
 * Time limit of every statement of the service. If the database stalls, the caller must receive "unavailable" within 5 s
 * (I-37). Long work is done in batches.
 */
export const STATEMENT_TIMEOUT_MS = 4000;
/** Lower limit of a shorter time limit: it also applies to the `set` statement that restores the usual one. */
const SHORTEST_MS = 25;
/** A shorter time limit is set only if it differs by more than this. */
const NEARLY_MS = 250;
const CONNECT_TIMEOUT_MS = 3000;
/** Time limit in the client, for a server that does not reply at all. */
const REPLY_TIMEOUT_MS = 4500;

// count(*) and sums are bigint. All of these numbers in Jobferry are far below 2^53.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
const parseAnyTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);

/** A pool of connections that never has more than `max` sessions on the server, including abandoned ones. */
export class Connections {
  readonly pool: pg.Pool;
  /** Time in seconds that statements have waited for a connection. */
  readonly waits = new Distribution(SECONDS);
  readonly #abandoned: AbandonedSessions;
  readonly #usualMs: number;
  /** Time limit of connections whose limit is not the usual one. After a statement it is never below the usual one. */
  readonly #timeOf = new WeakMap<pg.ClientBase, number>();

  /** @param usualMs default time limit of a statement */
  constructor(url: string, max: number, log: DatabaseLog, origin: OriginGuard, usualMs = STATEMENT_TIMEOUT_MS) {
    this.#usualMs = usualMs;
    this.pool = new pg.Pool({
      connectionString: url,
      max,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: usualMs,
      query_timeout: REPLY_TIMEOUT_MS,
      idle_in_transaction_session_timeout: 10_000,
      ...KEEP_ALIVE,
      application_name: 'jobferry',
      // JIT compilation takes longer than any statement of the service, and PostgreSQL would use it for payload searches.
      options: `${KEEP_ALIVE.options} -c jit=off`,
      types,
      verify: (client, done) => void origin.check(client).then(() => done(), done),
    });
    this.#abandoned = new AbandonedSessions(this.pool, url, log);
    // Without these handlers a connection that dies while idle ends the process.
    this.pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'));
    this.pool.on('connect', (client) => {
      client.on('error', (error) => log.warn({ err: error }, 'database connection lost'));
    });
  }

  /**
   * @param maxMs time limit of the statement; undefined for the usual one
   * @param assertMaySend called right before the statement is sent, because it may have waited for a connection for seconds
   * @throws JobferryError `unavailable` when no connection is available; errors of the statement are thrown unchanged
   */
  async run<Row extends pg.QueryResultRow>(
    statement: pg.QueryConfig,
    { maxMs = this.#usualMs, assertMaySend }: { maxMs?: number | undefined; assertMaySend?: () => void } = {},
  ): Promise<Row[]> {
    const withinMs = Math.ceil(maxMs);
    // `set` takes as long as a small statement, so a limit that is close to the usual one is not set.
    const isShort = withinMs < this.#usualMs - NEARLY_MS;
    const wanted = isShort ? Math.max(SHORTEST_MS, withinMs) : Math.max(this.#usualMs, withinMs);
    return this.#onConnection(async (client) => {
      await this.#giveTime(client, wanted);
      if (!isShort) return (await client.query<Row>(statement)).rows;
      const ended = await client.query<Row>(statement).then(
        ({ rows }) => ({ rows }),
        (error: unknown) => ({ error }),
      );
      if ('rows' in ended || isRefusal(ended.error)) await this.#giveTime(client, this.#usualMs).catch(notAsBefore);
      if ('error' in ended) throw ended.error;
      return ended.rows;
    }, assertMaySend);
  }

  async #giveTime(client: pg.PoolClient, ms: number): Promise<void> {
    if ((this.#timeOf.get(client) ?? this.#usualMs) === ms) return;
    await client.query(`set statement_timeout = ${ms}`);
    this.#timeOf.set(client, ms);
  }

  async #onConnection<T>(work: (client: pg.PoolClient) => Promise<T>, assertMaySend?: () => void): Promise<T> {
    const since = performance.now();
    const client = await this.pool.connect().catch((error: unknown) => {
      this.waits.observe((performance.now() - since) / 1000);
      throw unavailable('the database is not available', 'nothing', error);
    });
    this.waits.observe((performance.now() - since) / 1000);
    let broken: unknown;
    try {
      assertMaySend?.();
      return await work(client);
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof JobferryError)) broken = error;
      throw error;
    } finally {
      client.release(broken as Error | undefined);
    }
  }

  async close(): Promise<void> {
    this.#abandoned.stop();
    await this.pool.end();
  }
}

/** query_canceled: nearly always by the statement's time-out. */
export const CANCELLED = '57014';

/** True if the server refused the statement. Its connection can then be used again. */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}

/** Throws an error that closes the connection: it would keep a time limit that is wrong for other statements. */
function notAsBefore(cause: unknown): never {
  throw new Error('the usual time-out of a connection could not be restored', { cause });
}

/** Fast path for timestamps in UTC, without the driver's regular expression: each claimed job has four timestamps. */
function parseTimestamp(text: string): Date {
  if (text.length > 21 && text.length < 27 && text[10] === ' ' && text.endsWith('+00')) {
    const parsed = new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`);
    if (!Number.isNaN(parsed.getTime())) return parsed;
  }
  return parseAnyTimestamp(text) as Date;
}
