import type pg from 'pg';
import { STATEMENT_TIMEOUT_MS } from './connections.ts';
import type { Database } from './database.ts';

/** Facts that tell a connection of a pooler from one of a server. */
interface SessionFacts {
  pid: number;
  database: string;
  /** When the server started: two that were set up alike can have databases of the same name and number. */
  started: string;
  standby: boolean;
  statement_timeout: number;
  idle_in_transaction_session_timeout: number;
  jit: string;
}

const FACTS = `
  select pg_backend_pid() as pid,
         (select oid || ' ' || datname from pg_database where datname = current_database()) as database,
         pg_postmaster_start_time()::text as started, pg_is_in_recovery() as standby,
         (select setting::integer from pg_settings where name = 'statement_timeout') as statement_timeout,
         (select setting::integer from pg_settings where name = 'idle_in_transaction_session_timeout')
           as idle_in_transaction_session_timeout,
         current_setting('jit') as jit`;

const MIN_STATEMENT_MS = 1000;
const MAX_IDLE_MS = 60_000;

export const POOLER =
  'DATABASE_URL leads to a pooler, but lease locks, LISTEN and migrations need a session of their own: connect to the ' +
  'server itself, or set DIRECT_DATABASE_URL to its address';

/** Something about a pooler that stops a start. */
interface PoolingFault {
  what: string;
  fix: string;
}

/**
 * Refuses a pooler in the place of a server. Through one, processes would take each other for dead and deliver jobs
 * twice.
 * @throws Error with a message for the operator
 */
export async function checkPooling(db: Database): Promise<void> {
  const [fault] = await poolingFaults(db);
  if (fault !== undefined) throw new Error(`${fault.what}: ${fault.fix}`);
}

/**
 * @returns what is wrong with the connections, whether there is a pooler or not
 * @throws Error if DATABASE_URL cannot be reached
 */
export async function poolingFaults(db: Database): Promise<PoolingFault[]> {
  const pooled = await factsOf(db.pool);
  if (!db.isPooled) {
    const [what = '', fix = ''] = POOLER.split(': ');
    return pooled.isPooler ? [{ what, fix }] : [];
  }
  try {
    const direct = await factsOf(db.sessionPool);
    return [...pathFaults(pooled.facts, direct), ...settingFaults(pooled.facts)];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // PgBouncer refuses so, before a query could show that it is one.
    if (reason.startsWith('unsupported startup parameter')) return [DIRECT_POOLER];
    const what = `the database of DIRECT_DATABASE_URL cannot be reached: ${reason}`;
    return [{ what, fix: 'correct it, or let the server accept connections from this machine' }];
  }
}

const DIRECT_POOLER: PoolingFault = {
  what: 'DIRECT_DATABASE_URL leads to a pooler, too',
  fix: 'it must be the address of the server',
};

function pathFaults(pooled: SessionFacts, { facts: direct, isPooler }: Facts): PoolingFault[] {
  if (isPooler) {
    return [DIRECT_POOLER];
  }
  if (pooled.database !== direct.database) {
    return [{ what: 'DATABASE_URL and DIRECT_DATABASE_URL lead to different databases', fix: 'correct one of them' }];
  }
  if (pooled.standby !== direct.standby || pooled.started !== direct.started) {
    const what = 'DATABASE_URL and DIRECT_DATABASE_URL lead to different servers';
    return [{ what, fix: 'correct one of them; in a cluster let both follow the primary' }];
  }
  return [];
}

/** Without these limits, a statement that hangs would occupy a session of the pooler for ever. */
function settingFaults({ statement_timeout: statementMs, jit, ...facts }: SessionFacts): PoolingFault[] {
  const idleMs = facts.idle_in_transaction_session_timeout;
  const wrong = [
    statementMs >= MIN_STATEMENT_MS && statementMs <= STATEMENT_TIMEOUT_MS ? [] : ['statement_timeout = 4000'],
    idleMs > 0 && idleMs <= MAX_IDLE_MS ? [] : ['idle_in_transaction_session_timeout = 10000'],
    jit === 'off' ? [] : ['jit = off'],
  ].flat();
  if (wrong.length === 0) return [];
  return [
    {
      what: 'the sessions of the pooler lack settings that Jobferry cannot make through it',
      fix: `let the pooler run "set ${wrong.join('; set ')}" on each new connection to the server (connect_query of PgBouncer)`,
    },
  ];
}

/** How many times it is looked whether two clients share a session. A busy pooler may give it to a third one. */
const LOOKS = 20;

/**
 * @returns `statement` if transactions are refused; `transaction` if a client gets the session that another one has
 * just left;
 *   `session` if that was never so
 */
export async function poolModeOf(db: Database): Promise<'session' | 'transaction' | 'statement'> {
  const [one, other] = [await db.pool.connect(), await db.pool.connect()];
  const pidOf = async (client: pg.PoolClient) =>
    (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  try {
    for (let look = 0; look < LOOKS; look += 1) {
      const left = await pidOf(one);
      await other.query('begin');
      const taken = await pidOf(other);
      await other.query('commit');
      if (taken === left) return 'transaction';
    }
    return 'session';
  } catch (error) {
    if (!/statement pooling/i.test(String(error))) throw error;
    return 'statement';
  } finally {
    // The state of the sessions behind them is not known after an error.
    one.release(true);
    other.release(true);
  }
}

export async function isPooler(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<Pick<SessionFacts, 'pid'>>('select pg_backend_pid() as pid');
  return rows[0] !== undefined && isOfPooler(client, rows[0]);
}

/** A pooler reports a process id of its own at the start of a connection. */
function isOfPooler(client: pg.ClientBase, { pid }: Pick<SessionFacts, 'pid'>): boolean {
  return (client as { processID?: number | null }).processID !== pid;
}

interface Facts {
  facts: SessionFacts;
  isPooler: boolean;
}

async function factsOf(pool: pg.Pool): Promise<Facts> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<SessionFacts>(FACTS);
    const [facts] = rows;
    if (facts === undefined) throw new Error('no row was returned');
    return { facts, isPooler: isOfPooler(client, facts) };
  } finally {
    client.release();
  }
}
