import pg from 'pg';
import { DatabaseAway, JobferryError } from '../../domain/errors.ts';
import { Distribution, SECONDS } from '../../telemetry/counts/distribution.ts';
import { AbandonedSessions } from './abandoned-sessions.ts';
import { type Address, createPool } from './address.ts';
import type { DatabaseLog } from './database-log.ts';
import { KEEP_ALIVE } from './keep-alive.ts';
import type { OriginGuard } from './origin.ts';
import { UnusedConnections } from './unused-connections.ts';

/**
 * Time limit of every statement of the service. If the database stalls, the caller must receive "unavailable" within 5
 * s (I-37). Long work is done in batches.
 */
export const STATEMENT_TIMEOUT_MS = 4000;
/** Lower limit of a shorter time limit: it also applies to the `set` statement that restores the usual one. */
const SHORTEST_MS = 25;
/** A shorter time limit is set only if it differs by more than this. */
const NEARLY_MS = 250;
const CONNECT_TIMEOUT_MS = 3000;
/** Time limit in the client, for a server that does not reply at all. */
const REPLY_TIMEOUT_MS = 4500;
/**
 * Age from which a connection is replaced because it is read-only:
 * a server that stays so must not get new ones all the time.
 */
const RENEW_AFTER_MS = 1000;
/** A connection that is in use without a statement for this much longer than the longest statement is closed. */
const UNUSED_FOR_MS = 10_000;
/** Time for which a pool opens no further connections after the server has refused one because it has none left. */
const CROWDED_MS = 1000;
/** Pause between lines about lost connections of a pool. */
const LOST_EVERY_MS = 5000;

// count(*) and sums are bigint. All of these numbers in Jobferry are far below 2^53.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
const parseAnyTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);

/** Settings of a session. */
const SESSION = {
  idle_in_transaction_session_timeout: 10_000,
  // JIT compilation takes longer than any statement of the service, and PostgreSQL would use it for payload searches.
  options: `${KEEP_ALIVE.options} -c jit=off`,
};

/** A pooler refuses settings of a session. It has to make them itself, which `assertSettings` checks at the start. */
const { options: _, ...POOLED } = KEEP_ALIVE;

/** How the connections of a pool are used. */
export interface PoolUse {
  pool: 'main' | 'reading' | 'direct' | 'replica';
  max: number;
  used: number;
  /**
   * Connections in use for a second or longer without a statement.
   * More than none for long means that one was forgotten.
   */
  unused: number;
  idle: number;
  /** Statements that wait for a connection. */
  waiting: number;
  /** Time in seconds that statements have waited for a connection since the start. */
  waits: Distribution;
}

interface ConnectionsOptions {
  usualMs?: number;
  isPooled?: boolean;
  /** Idle connections that are not closed. */
  kept?: number;
}

/** A pool of connections that never has more than `max` sessions on the server, including abandoned ones. */
export class Connections {
  readonly pool: pg.Pool;
  /** Time in seconds that statements have waited for a connection. */
  readonly waits = new Distribution(SECONDS);
  /** Null behind a pooler, whose sessions are not those of this process. */
  readonly #abandoned: AbandonedSessions | null;
  readonly #unused: UnusedConnections;
  readonly #isPooled: boolean;
  readonly #usualMs: number;
  /** Time limit of connections whose limit is not the usual one. After a statement it is never below the usual one. */
  readonly #timeOf = new WeakMap<pg.ClientBase, number>();
  readonly #connectedAt = new WeakMap<pg.ClientBase, number>();
  /** Unlike those of `totalCount`, these have been made. */
  readonly #open = new Set<pg.ClientBase>();

  /**
   * @param options `usualMs`: default time limit of a statement; `isPooled`: the address is that of a pooler;
   * `kept` as above
   */
  constructor(
    address: Address,
    max: number,
    log: DatabaseLog,
    guard: Pick<OriginGuard, 'check'>,
    { usualMs = STATEMENT_TIMEOUT_MS, isPooled = false, kept = 0 }: ConnectionsOptions = {},
  ) {
    this.#usualMs = usualMs;
    this.#isPooled = isPooled;
    this.pool = createPool(address, {
      max,
      min: kept,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: REPLY_TIMEOUT_MS,
      application_name: 'jobferry',
      types,
      ...(isPooled ? POOLED : { ...KEEP_ALIVE, ...SESSION, statement_timeout: usualMs }),
      // Not `verify`: a caller whose time ends during `verify` would get the connection and never release it.
      onConnect: (client) => this.#check(client, guard),
    });
    this.#abandoned = isPooled ? null : new AbandonedSessions(this.pool, address, log);
    this.#unused = new UnusedConnections(this.pool, Math.max(usualMs, STATEMENT_TIMEOUT_MS) + UNUSED_FOR_MS, log);
    // The end of the pool does not wait for the server, which may stop before it has read that a connection is to end.
    let saidAt = Number.NEGATIVE_INFINITY;
    const warn = (err: Error, message: string) => {
      // The connections of a pool are usually lost together.
      if (this.pool.ending || performance.now() - saidAt < LOST_EVERY_MS) return;
      saidAt = performance.now();
      log.warn({ err }, message);
    };
    // Without these handlers a connection that dies while idle ends the process.
    this.pool.on('error', (error) => warn(error, 'idle database connection lost'));
    this.pool.on('remove', (client) => this.#open.delete(client));
    this.pool.on('connect', (client) => {
      this.#open.add(client);
      this.#connectedAt.set(client, performance.now());
      client.on('error', (error) => warn(error, 'database connection lost'));
    });
  }

  /**
   * @param maxMs time limit of the statement; undefined for the usual one
   * @param assertMaySend called right before the statement is sent, because it may have waited for a connection for
   * seconds
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
      if (this.#isPooled) return inOneSession<Row>(client, statement, wanted);
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
    const client = await this.#connect().catch((error: unknown) => {
      this.waits.observe((performance.now() - since) / 1000);
      throw new DatabaseAway('nothing', error);
    });
    this.waits.observe((performance.now() - since) / 1000);
    let broken: unknown;
    try {
      assertMaySend?.();
      return await work(client);
    } catch (error) {
      if (this.#isOutdated(client, error) || (!isRefusal(error) && !(error instanceof JobferryError))) broken = error;
      throw error;
    } finally {
      client.release(broken as Error | undefined);
    }
  }

  /** If the server has no connection left, the statement waits for one that this pool has. */
  async #connect(): Promise<pg.PoolClient> {
    const giveUpAt = performance.now() + CONNECT_TIMEOUT_MS;
    for (;;) {
      try {
        return await this.pool.connect();
      } catch (error) {
        const isCrowded = error instanceof pg.DatabaseError && error.code === TOO_MANY_CONNECTIONS;
        if (!isCrowded || this.#open.size === 0 || performance.now() > giveUpAt) throw error;
        this.#openNoMore();
      }
    }
  }

  /** For a while the pool has no room for further connections. */
  #openNoMore(): void {
    const { options } = this.pool;
    const room = options.max - this.#open.size;
    if (room <= 0) return;
    options.max -= room;
    setTimeout(() => (options.max += room), CROWDED_MS).unref();
  }

  /**
   * A session that began while the default of its role or database was read-only stays so, whatever the default is now.
   */
  #isOutdated(client: pg.PoolClient, error: unknown): boolean {
    if (!isReadOnly(error)) return false;
    return performance.now() - (this.#connectedAt.get(client) ?? 0) >= RENEW_AFTER_MS;
  }

  /** Checks a new connection before any caller gets it. */
  async #check(client: pg.ClientBase, guard: Pick<OriginGuard, 'check'>): Promise<void> {
    this.#abandoned?.opened(client);
    try {
      await guard.check(client as pg.Client);
    } catch (error) {
      // The pool closes the connection without an event. Its session may still wait in a stalled server.
      this.#abandoned?.add(error, client);
      throw error;
    }
  }

  use(name: PoolUse['pool']): PoolUse {
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.pool;
    const { count: unused } = this.#unused;
    return { pool: name, max: this.pool.options.max, used: total - idle, unused, idle, waiting, waits: this.waits };
  }

  async close(): Promise<void> {
    this.#abandoned?.stop();
    await this.pool.end().finally(() => this.#unused.stop());
  }
}

/**
 * Runs a statement behind a pooler, where the session may be another one after each transaction. So its time limit is
 * one of a transaction, unless it is that of all sessions, and it has no name: before version 1.21 PgBouncer does not
 * know prepared statements.
 */
async function inOneSession<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  { name: _name, ...statement }: pg.QueryConfig,
  maxMs: number,
): Promise<Row[]> {
  if (maxMs === STATEMENT_TIMEOUT_MS) return (await client.query<Row>(statement)).rows;
  try {
    await client.query(`begin; set local statement_timeout = ${maxMs}`);
    const { rows } = await client.query<Row>(statement);
    await client.query('commit');
    return rows;
  } catch (error) {
    // Without a rollback the connection cannot be used again; it is then closed.
    if (isRefusal(error)) await client.query('rollback').catch(notAsBefore);
    throw error;
  }
}

/** query_canceled: nearly always by the statement's time-out. */
export const CANCELLED = '57014';

/** too_many_connections: the limit of the server, of the role or of the database */
export const TOO_MANY_CONNECTIONS = '53300';

/** read_only_sql_transaction: the server is a standby, or an operator has stopped writes. */
export const READ_ONLY = '25006';

export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === READ_ONLY;
}

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
