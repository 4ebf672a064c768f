import pg from 'pg';
import { JobferryError, type Stored, unavailable } from '../../domain/errors.ts';
import type { SearchBudget } from '../search/budget.ts';
import { CANCELLED, Connections, type DatabaseLog } from './connections.ts';
import { FairTurns } from './fair-turns.ts';
import { OriginGuard } from './origin.ts';
import { SecretBox } from './secret-box.ts';

export type { DatabaseLog } from './connections.ts';

/** A named statement: prepared once per connection, and findable in `pg_stat_statements` by its text. */
export interface Statement {
  name: string;
  text: string;
}

/** Of a process: for publish, claim, settle, keys and all that writes; and for dashboards, lists and searches. */
const MAX_CONNECTIONS = 16;
const MAX_READING_CONNECTIONS = 4;

/**
 * Dashboards, lists and searches. An account's statements wait for each other and not for those of other accounts; a
 * page of a dashboard asks for a few dozen at once.
 */
const READING = {
  atOnce: MAX_READING_CONNECTIONS,
  atOnceOfOne: 2,
  waiting: 4000,
  waitingOfOne: 1000,
  maxWaitMs: 4000,
  slowMs: 300,
};

/** No field of GraphQL keeps a connection for longer. */
const GRAPHQL_MS = 2000;

/**
 * Changes that are no publish, report or outcome: edits, keys, replays, bulk actions. Those of one account wait for the same
 * rows, each with a connection, so they get a part of the connections only.
 */
const CHANGING = { atOnce: 8, atOnceOfOne: 3, waiting: 2000, waitingOfOne: 500, maxWaitMs: 3000 };

interface ReadingOptions {
  /** Of a request; it is charged for what its statements take, and not for waiting for its account's turn. */
  budget?: SearchBudget | undefined;
  /** What a statement may take, if that is not 2 s: lists of REST are promised at any size. */
  maxMs?: number | undefined;
  /** Whether nobody waits for the answer any more: a statement whose turn comes then is refused. */
  isGone?: (() => boolean) | undefined;
}

/** The pools of the process, shared by the hand-written SQL, Prisma and graphile-worker. */
export class Database {
  readonly pool: pg.Pool;
  /** For reading what may take long, so that nothing else has to wait for it. */
  readonly readingPool: pg.Pool;
  /** Who may use the connections for reading. */
  readonly readingTurns = new FairTurns(READING);
  /** Who may change what is changed one by one. */
  readonly changingTurns = new FairTurns(CHANGING);
  readonly log: DatabaseLog;
  /** What is stored encrypted goes in and comes out through this. */
  readonly box: SecretBox;
  private readonly connections: Connections;
  private readonly readingConnections: Connections;
  /** What sends a statement, over whichever connection. */
  readonly run: Connections['run'];
  /** Refuses connections to a server whose data is older than what was seen. */
  readonly origin: OriginGuard;

  constructor(url: string, log: DatabaseLog, box: SecretBox = new SecretBox()) {
    this.log = log;
    this.box = box;
    this.origin = new OriginGuard(log);
    this.connections = new Connections(url, MAX_CONNECTIONS, log, this.origin);
    this.readingConnections = new Connections(url, MAX_READING_CONNECTIONS, log, this.origin, GRAPHQL_MS);
    this.pool = this.connections.pool;
    this.readingPool = this.readingConnections.pool;
    this.run = (statement) => this.connections.run(statement);
  }

  /**
   * The same database, for what an account looks at: its statements go over the connections for reading, when it is the
   * account's turn, and are refused as `unavailable` when that takes too long.
   */
  reading(accountId: string, { budget, maxMs, isGone = () => false }: ReadingOptions = {}): Database {
    const inTurn = <T>(work: () => Promise<T>) => this.readingTurns.run(accountId, work);
    const run = <Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<Row[]> => {
      const read = async () => {
        if (isGone()) throw unavailable('nobody waits for this answer any more', 'nothing');
        return this.readingConnections.run<Row>(statement, { maxMs: budget?.left ?? maxMs });
      };
      return budget === undefined ? inTurn(read) : budget.spend(read, inTurn);
    };
    return Object.create(this, { run: { value: run } });
  }

  /** The same database, for statements that are refused as `unavailable` when they may not be sent any more. */
  onlyWhile(maySend: () => boolean, why: string): Database {
    const assertMaySend = () => {
      if (!maySend()) throw unavailable(why, 'nothing');
    };
    const run = <Row extends pg.QueryResultRow>(statement: pg.QueryConfig) =>
      this.connections.run<Row>(statement, { assertMaySend });
    return Object.create(this, { run: { value: run } });
  }

  /** @throws JobferryError `unavailable` when the database cannot answer now */
  async query<Row extends pg.QueryResultRow>(statement: Statement | string, values: unknown[] = []): Promise<Row[]> {
    const config = { ...(typeof statement === 'string' ? { text: statement } : statement), values };
    try {
      return await this.run<Row>(config);
    } catch (error) {
      if (!LOST_AGAINST_ANOTHER.has(sqlStateOf(error) ?? '')) throw translated(error);
    }
    // Every statement is a transaction of its own and was rolled back, so it may simply run again.
    try {
      return await this.run<Row>(config);
    } catch (error) {
      throw translated(error);
    }
  }

  async one<Row extends pg.QueryResultRow>(statement: Statement | string, values: unknown[] = []): Promise<Row | null> {
    return (await this.query<Row>(statement, values))[0] ?? null;
  }

  async close(): Promise<void> {
    await Promise.all([this.connections.close(), this.readingConnections.close()]);
  }
}

/**
 * SQLSTATE classes that say "not now" rather than "not like this": connection, resources, operator intervention, system
 * errors, transactions that lost against another, and a server that has a fault of its own: a broken file or setting.
 */
const UNAVAILABLE_CLASSES = new Set(['08', '40', '53', '55', '57', '58', 'F0', 'XX']);
/** deadlock_detected, serialization_failure */
const LOST_AGAINST_ANOTHER = new Set(['40P01', '40001']);
/** read_only_sql_transaction: a standby, or an operator who stopped writes. */
const READ_ONLY = '25006';
/** connection_exception, transaction_resolution_unknown; admin_shutdown, crash_shutdown: perhaps within the commit. */
const MAYBE_COMMITTED = /^(?:08|40003|57P0[12])/;

/** Keeps our own refusals and real faults; everything that time can heal becomes `unavailable`. */
export function translated(error: unknown): unknown {
  if (error instanceof JobferryError) return error;
  const sqlState = sqlStateOf(error);
  if (sqlState === READ_ONLY) return unavailable('the database is read-only at the moment', 'nothing', error);
  if (sqlState === CANCELLED) return unavailable('the database took too long to answer', 'nothing', error);
  // Without an SQLSTATE the server never judged the statement: reset, or timed out.
  if (sqlState === null || UNAVAILABLE_CLASSES.has(sqlState.slice(0, 2))) {
    const stored: Stored = sqlState === null || MAYBE_COMMITTED.test(sqlState) ? 'unknown' : 'nothing';
    return unavailable('the database is not available', stored, error);
  }
  return error;
}

function sqlStateOf(error: unknown): string | null {
  if (error instanceof pg.DatabaseError) return error.code ?? null;
  // Prisma wraps what the driver said.
  const cause = (error as { cause?: unknown; meta?: { driverAdapterError?: { cause?: unknown } } } | null) ?? {};
  const inner = cause.meta?.driverAdapterError?.cause ?? cause.cause;
  const code = (inner as { originalCode?: unknown } | undefined)?.originalCode;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}
