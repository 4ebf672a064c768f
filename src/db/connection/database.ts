import pg from 'pg';
import { DatabaseAway, JobferryError, type Stored, unavailable } from '../../domain/errors.ts';
import type { Address } from './address.ts';
import { Cipher } from './cipher.ts';
import { CANCELLED, Connections, type PoolUse, READ_ONLY, TOO_MANY_CONNECTIONS } from './connections.ts';
import type { DatabaseLog } from './database-log.ts';
import { FairTurns } from './fair-turns.ts';
import { DISK_FULL, FullDisk } from './full-disk.ts';
import type { Hosts } from './hosts.ts';
import { OriginGuard } from './origin.ts';
import { GRAPHQL_MS, MAX_READING_CONNECTIONS, type ReadingOptions, readingTurns, runInTurn } from './reading.ts';

export type { DatabaseLog } from './database-log.ts';

/** A named statement. It is prepared once per connection, and `pg_stat_statements` lists it by its text. */
export interface Statement {
  name: string;
  text: string;
  /** A replica would reply something else. */
  onPrimary?: true;
}

/** Connections per process for publish, claim, settle, keys and all other writes. */
const MAX_CONNECTIONS = 16;
/**
 * Idle connections that stay open: when other programs use up the connections of the server, health checks, the page of
 * metrics and a few statements go on.
 */
const KEPT = { main: 2, reading: 1 };
/**
 * Connections per process past a pooler: graphile-worker takes a row, deletes others and listens,
 * and one is for the sweep.
 */
const MAX_DIRECT_CONNECTIONS = 6;

/**
 * Limits of changes that are not a publish, report or outcome: edits, keys, replays, bulk actions. Changes of one
 * account wait for locks on the same rows while each holds a connection, so they may use only a part of the
 * connections.
 */
const CHANGING = { atOnce: 8, atOnceOfOne: 3, waiting: 2000, waitingOfOne: 500, maxWaitMs: 3000 };

/** The pools of the process, shared by the hand-written SQL, Prisma and graphile-worker. */
export class Database {
  readonly pool: pg.Pool;
  /** For reads that may take long, so that other statements do not wait for them. */
  readonly readingPool: pg.Pool;
  /** For work that needs the same session for several statements; behind a pooler, connections past the pooler. */
  readonly sessionPool: pg.Pool;
  /** Whether `pool` leads to a pooler in transaction mode. */
  readonly isPooled: boolean;
  /** Decides which account may use the connections for reading. */
  readonly readingTurns = readingTurns();
  /** Decides which account may run a change. */
  readonly changingTurns = new FairTurns(CHANGING);
  readonly log: DatabaseLog;
  /** Whether the server refuses writes for want of room. */
  readonly fullDisk: FullDisk;
  /** Encrypts and decrypts stored texts. */
  readonly cipher: Cipher;
  private readonly connections: Connections;
  private readonly readingConnections: Connections;
  private readonly directConnections: Connections | null;
  /** Sends a statement over one of the connections. */
  readonly run: Connections['run'];
  /** Refuses connections to a server whose data is older than that of a server seen before. */
  readonly origin: OriginGuard;
  /** Host lists, for addresses that name more than one host. */
  readonly #hosts: Hosts[];

  /** @param direct address of the server itself, if `address` is that of a pooler */
  constructor(address: Address, log: DatabaseLog, cipher: Cipher = new Cipher(), direct: Address | null = null) {
    this.log = log;
    this.fullDisk = new FullDisk(log);
    this.cipher = cipher;
    this.origin = new OriginGuard(log);
    this.#hosts = [address, direct].filter((one) => one !== null && typeof one !== 'string');
    for (const hosts of this.#hosts) hosts.onPrimary((origin) => this.origin.advance(origin));
    const isPooled = direct !== null;
    this.isPooled = isPooled;
    this.connections = new Connections(address, MAX_CONNECTIONS, log, this.origin, { isPooled, kept: KEPT.main });
    const reading = { usualMs: GRAPHQL_MS, isPooled, kept: KEPT.reading };
    this.readingConnections = new Connections(address, MAX_READING_CONNECTIONS, log, this.origin, reading);
    this.directConnections = direct === null ? null : new Connections(direct, MAX_DIRECT_CONNECTIONS, log, this.origin);
    this.sessionPool = (this.directConnections ?? this.connections).pool;
    this.pool = this.connections.pool;
    this.readingPool = this.readingConnections.pool;
    this.run = (statement) => this.connections.run(statement);
  }

  /**
   * Returns the same database for reads of an account. Its statements use the connections for reading, wait for the
   * account's turn, and fail as `unavailable` when that takes too long.
   */
  reading(accountId: string, options: ReadingOptions = {}): Database {
    const source = { turns: this.readingTurns, connections: this.readingConnections };
    return Object.create(this, { run: { value: runInTurn(source, accountId, options) } });
  }

  /**
   * Returns the same database. Its statements fail as `unavailable` if `maySend` returns false when they would be sent.
   */
  onlyWhile(maySend: () => boolean, why: string): Database {
    const assertMaySend = () => {
      if (!maySend()) throw unavailable(why, 'nothing');
    };
    const run = <Row extends pg.QueryResultRow>(statement: pg.QueryConfig) =>
      this.connections.run<Row>(statement, { assertMaySend });
    return Object.create(this, { run: { value: run } });
  }

  /** @throws JobferryError `unavailable` when the database is temporarily unavailable */
  async query<Row extends pg.QueryResultRow>(statement: Statement | string, values: unknown[] = []): Promise<Row[]> {
    const config = { ...(typeof statement === 'string' ? { text: statement } : statement), values };
    try {
      return await this.run<Row>(config);
    } catch (error) {
      const sqlState = sqlStateOf(error);
      this.fullDisk.note(sqlState, error);
      if (!LOST_AGAINST_ANOTHER.has(sqlState ?? '')) throw translated(error);
    }
    // Every statement is its own transaction and was rolled back, so it can run again.
    try {
      return await this.run<Row>(config);
    } catch (error) {
      throw translated(error);
    }
  }

  async one<Row extends pg.QueryResultRow>(statement: Statement | string, values: unknown[] = []): Promise<Row | null> {
    return (await this.query<Row>(statement, values))[0] ?? null;
  }

  /** Why the last connection was refused, for operators; null when it was not. */
  get refusal(): string | null {
    return this.#hosts.find(({ problem }) => problem !== null)?.problem ?? this.origin.refusal;
  }

  poolUse(): PoolUse[] {
    const uses = [this.connections.use('main'), this.readingConnections.use('reading')];
    return this.directConnections === null ? uses : [...uses, this.directConnections.use('direct')];
  }

  async close(): Promise<void> {
    const all = [this.connections, this.readingConnections, this.directConnections];
    await Promise.all(all.map((connections) => connections?.close()));
  }
}

/**
 * SQLSTATE classes of temporary errors: connection, transaction rollback, resources, operator intervention, system
 * errors, and internal faults of the server, such as a broken file or setting.
 */
const UNAVAILABLE_CLASSES = new Set(['08', '40', '53', '55', '57', '58', 'F0', 'XX']);
/** deadlock_detected, serialization_failure */
const LOST_AGAINST_ANOTHER = new Set(['40P01', '40001']);
/** operator_intervention: raised by the triggers of `backup --final` only. */
export const MOVED = '57000';
/** Where the server has answered, and says what keeps it from writing. All of the statement is rolled back. */
const MISSING: Readonly<Record<string, string>> = {
  [DISK_FULL]: 'the database takes no writes: its disk is full',
  // out_of_memory, configuration_limit_exceeded (such as temp_file_limit)
  '53200': 'the database is out of memory',
  '53400': 'the database has reached a limit of its settings',
  [MOVED]: 'the database was moved to another place',
};
/**
 * connection_exception, transaction_resolution_unknown, admin_shutdown, crash_shutdown: the commit may have succeeded.
 */
const MAYBE_COMMITTED = /^(?:08|40003|57P0[12])/;

/** The server ends its sessions, or takes no new ones. */
const SESSION_ENDED = /^(?:08|57P)/;

/** Turns temporary errors into `unavailable`. Returns JobferryErrors and all other errors unchanged. */
export function translated(error: unknown): unknown {
  if (error instanceof JobferryError) return error;
  const sqlState = sqlStateOf(error);
  if (sqlState === READ_ONLY) return unavailable('the database is read-only at the moment', 'nothing', error);
  if (sqlState === CANCELLED) return unavailable('the database took too long to answer', 'nothing', error);
  const missing = MISSING[sqlState ?? ''];
  if (missing !== undefined) return unavailable(missing, 'nothing', error);
  // Without an SQLSTATE there is no reply from the server: the connection was reset or timed out.
  if (sqlState === null || UNAVAILABLE_CLASSES.has(sqlState.slice(0, 2))) {
    const stored: Stored = sqlState === null || MAYBE_COMMITTED.test(sqlState) ? 'unknown' : 'nothing';
    if (sqlState === null || SESSION_ENDED.test(sqlState)) return new DatabaseAway(stored, error);
    return unavailable('the database is not available', stored, error);
  }
  return error;
}

/** Whether a connection was refused because all that the server allows are in use. */
export function isNoConnectionLeft(error: unknown): boolean {
  if (sqlStateOf(error) === TOO_MANY_CONNECTIONS) return true;
  return error instanceof Error && error.cause !== undefined && isNoConnectionLeft(error.cause);
}

/** The SQLSTATE of a refusal by the server; null when the server did not refuse. */
export function sqlStateOf(error: unknown): string | null {
  if (error instanceof pg.DatabaseError) return error.code ?? null;
  // Prisma wraps the driver's error.
  const cause = (error as { cause?: unknown; meta?: { driverAdapterError?: { cause?: unknown } } } | null) ?? {};
  const inner = cause.meta?.driverAdapterError?.cause ?? cause.cause;
  const code = (inner as { originalCode?: unknown } | undefined)?.originalCode;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}
