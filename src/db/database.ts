import pg from 'pg';
import { JobferryError } from '../domain/errors.ts';
import { OriginGuard } from './origin.ts';
import { SecretBox } from './secret-box.ts';

/** The part of a logger that the database needs. */
export interface DatabaseLog {
  warn(fields: object, message: string): void;
  error?(fields: object, message: string): void;
}

/** A named statement: prepared once per connection, and findable in `pg_stat_statements` by its text. */
export interface Statement {
  name: string;
  text: string;
}

/**
 * No statement of the service may take longer than this: a caller must hear "unavailable" within
 * 5 s of a database that stalls (reliability I-37), and everything long is done in batches.
 */
const STATEMENT_TIMEOUT_MS = 4000;
const CONNECT_TIMEOUT_MS = 3000;
/** The client's own bound, for a server that no longer answers at all. */
const ANSWER_TIMEOUT_MS = 4500;
const MAX_CONNECTIONS = 16;

// count(*) and sums are bigint; every number that Jobferry keeps there is far below 2^53.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
const parseAnyTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);

/** One pool per process, shared by the hand-written SQL, Prisma and graphile-worker. */
export class Database {
  readonly pool: pg.Pool;
  readonly log: DatabaseLog;
  /** What is stored encrypted goes in and comes out through this. */
  readonly box: SecretBox;
  /** Refuses connections to a server whose data is older than what was seen. */
  readonly origin: OriginGuard;

  constructor(url: string, log: DatabaseLog, box: SecretBox = new SecretBox()) {
    this.log = log;
    this.box = box;
    this.origin = new OriginGuard(log);
    this.pool = new pg.Pool({
      connectionString: url,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
      idle_in_transaction_session_timeout: 10_000,
      keepAlive: true,
      application_name: 'jobferry',
      // Compiling takes longer than any statement of the service, and estimates of payload searches invite it.
      options: '-c jit=off',
      types,
      verify: (client, done) => void this.origin.check(client).then(() => done(), done),
    });
    // Without these handlers a connection that dies while idle ends the process.
    this.pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'));
    this.pool.on('connect', (client) => {
      client.on('error', (error) => log.warn({ err: error }, 'database connection lost'));
    });
  }

  /** @throws JobferryError `unavailable` when the database cannot answer now */
  async query<Row extends pg.QueryResultRow>(statement: Statement | string, values: unknown[] = []): Promise<Row[]> {
    const config = { ...(typeof statement === 'string' ? { text: statement } : statement), values };
    try {
      return (await this.pool.query<Row>(config)).rows;
    } catch (error) {
      if (!LOST_AGAINST_ANOTHER.has(sqlStateOf(error) ?? '')) throw translated(error);
    }
    // Every statement is a transaction of its own and was rolled back, so it may simply run again.
    try {
      return (await this.pool.query<Row>(config)).rows;
    } catch (error) {
      throw translated(error);
    }
  }

  async one<Row extends pg.QueryResultRow>(statement: Statement | string, values: unknown[] = []): Promise<Row | null> {
    return (await this.query<Row>(statement, values))[0] ?? null;
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}

/**
 * SQLSTATE classes that say "not now" rather than "not like this": connection, resources, operator
 * intervention, system errors, and transactions that lost against another.
 */
const UNAVAILABLE_CLASSES = new Set(['08', '40', '53', '55', '57', '58']);
/** deadlock_detected, serialization_failure */
const LOST_AGAINST_ANOTHER = new Set(['40P01', '40001']);
/** read_only_sql_transaction: a standby, or an operator who stopped writes. */
const READ_ONLY = '25006';

/** Keeps our own refusals and real faults; everything that time can heal becomes `unavailable`. */
export function translated(error: unknown): unknown {
  if (error instanceof JobferryError) return error;
  const sqlState = sqlStateOf(error);
  // Without an SQLSTATE the server never judged the statement: refused, reset, timed out, pool exhausted.
  if (sqlState === null || sqlState === READ_ONLY || UNAVAILABLE_CLASSES.has(sqlState.slice(0, 2))) {
    return new JobferryError('unavailable', 'the database is not available, try again', { cause: error });
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

/** In UTC, as servers have it, without the regular expression: a claimed job alone has four. */
function parseTimestamp(text: string): Date {
  if (text.length > 21 && text.length < 27 && text[10] === ' ' && text.endsWith('+00')) {
    const parsed = new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`);
    if (!Number.isNaN(parsed.getTime())) return parsed;
  }
  return parseAnyTimestamp(text) as Date;
}
