import pg from 'pg';
import { JobferryError, unavailable } from '../../domain/errors.ts';
import { AbandonedSessions } from './abandoned-sessions.ts';
import { KEEP_ALIVE } from './keep-alive.ts';
import type { OriginGuard } from './origin.ts';

/** The part of a logger that the database needs. */
export interface DatabaseLog {
  warn(fields: object, message: string): void;
  error?(fields: object, message: string): void;
}

/**
 * No statement of the service may take longer than this: a caller must hear "unavailable" within
 * 5 s of a database that stalls (I-37), and everything long is done in batches.
 */
export const STATEMENT_TIMEOUT_MS = 4000;
/** Of a statement that may take less: the setting itself has to be made and taken back within it. */
const SHORTEST_MS = 25;
const NEARLY_MS = 250;
const CONNECT_TIMEOUT_MS = 3000;
/** The client's own bound, for a server that no longer answers at all. */
const ANSWER_TIMEOUT_MS = 4500;

// count(*) and sums are bigint; every number that Jobferry keeps there is far below 2^53.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
const parseAnyTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);

/** A pool of connections that opens no more than so many sessions on the server, given up ones included. */
export class Connections {
  readonly pool: pg.Pool;
  readonly #abandoned: AbandonedSessions;
  readonly #usualMs: number;
  /** What a statement may take on a connection, where that is not as usual. Never less once a statement has ended. */
  readonly #timeOf = new WeakMap<pg.ClientBase, number>();

  /** @param usualMs what a statement may take if nothing else is said */
  constructor(url: string, max: number, log: DatabaseLog, origin: OriginGuard, usualMs = STATEMENT_TIMEOUT_MS) {
    this.#usualMs = usualMs;
    this.pool = new pg.Pool({
      connectionString: url,
      max,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: usualMs,
      query_timeout: ANSWER_TIMEOUT_MS,
      idle_in_transaction_session_timeout: 10_000,
      ...KEEP_ALIVE,
      application_name: 'jobferry',
      // Compiling takes longer than any statement of the service, and estimates of payload searches invite it.
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
   * @param maxMs what the statement may take, if that is not what is usual on these connections
   * @param assertMaySend looks once more when the connection is there, for which the statement may have waited for seconds
   * @throws JobferryError `unavailable` when no connection is to be had; what the statement fails with is thrown as it is
   */
  async run<Row extends pg.QueryResultRow>(
    statement: pg.QueryConfig,
    { maxMs = this.#usualMs, assertMaySend }: { maxMs?: number | undefined; assertMaySend?: () => void } = {},
  ): Promise<Row[]> {
    const withinMs = Math.ceil(maxMs);
    // Setting it takes as long as a small statement, so what is nearly as usual is left as it is.
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
    const client = await this.pool.connect().catch((error: unknown) => {
      throw unavailable('the database is not available', 'nothing', error);
    });
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

/** query_canceled: by the time-out of the statement, nearly always. */
export const CANCELLED = '57014';

/** A statement that the server refused has ended, and its connection is as good as before. */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}

/** No refusal of a statement: the connection would go on with a setting that is not for others, so it is closed. */
function notAsBefore(cause: unknown): never {
  throw new Error('a connection could not be given its usual time-out again', { cause });
}

/** In UTC, as servers have it, without the regular expression: a claimed job alone has four. */
function parseTimestamp(text: string): Date {
  if (text.length > 21 && text.length < 27 && text[10] === ' ' && text.endsWith('+00')) {
    const parsed = new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`);
    if (!Number.isNaN(parsed.getTime())) return parsed;
  }
  return parseAnyTimestamp(text) as Date;
}
