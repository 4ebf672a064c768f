import type pg from 'pg';
import { STATEMENT_TIMEOUT_MS } from './connections.ts';
import type { Database } from './database.ts';

/** What sets the connections of a pooler apart from those of a server. */
interface SessionFacts {
  pid: number;
  database: string;
  statement_timeout: number;
  idle_in_transaction_session_timeout: number;
  jit: string;
}

const FACTS = `
  select pg_backend_pid() as pid,
         (select oid || ' ' || datname from pg_database where datname = current_database()) as database,
         (select setting::integer from pg_settings where name = 'statement_timeout') as statement_timeout,
         (select setting::integer from pg_settings where name = 'idle_in_transaction_session_timeout')
           as idle_in_transaction_session_timeout,
         current_setting('jit') as jit`;

const MIN_STATEMENT_MS = 1000;
const MAX_IDLE_MS = 60_000;

export const POOLER =
  'DATABASE_URL leads to a pooler, but lease locks, LISTEN and migrations need a session of their own: connect to the ' +
  'server itself, or set DIRECT_DATABASE_URL to its address';

/**
 * Refuses a pooler in the place of a server. Through one, processes would take each other for dead and deliver jobs twice.
 * @throws Error with a message for the operator
 */
export async function checkPooling(db: Database): Promise<void> {
  const pooled = await factsOf(db.pool);
  if (!db.isPooled) {
    if (pooled.isPooler) throw new Error(POOLER);
    return;
  }
  const direct = await factsOf(db.sessionPool).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the database of DIRECT_DATABASE_URL cannot be reached: ${reason}`, { cause: error });
  });
  if (direct.isPooler)
    throw new Error('DIRECT_DATABASE_URL leads to a pooler, too: it must be the address of the server');
  if (pooled.facts.database !== direct.facts.database) {
    throw new Error('DATABASE_URL and DIRECT_DATABASE_URL lead to different databases');
  }
  assertSettings(pooled.facts);
}

/** Without these limits, a statement that hangs would occupy a session of the pooler for ever. */
function assertSettings({ statement_timeout: statementMs, jit, ...facts }: SessionFacts): void {
  const idleMs = facts.idle_in_transaction_session_timeout;
  const wrong = [
    statementMs >= MIN_STATEMENT_MS && statementMs <= STATEMENT_TIMEOUT_MS ? [] : ['statement_timeout = 4000'],
    idleMs > 0 && idleMs <= MAX_IDLE_MS ? [] : ['idle_in_transaction_session_timeout = 10000'],
    jit === 'off' ? [] : ['jit = off'],
  ].flat();
  if (wrong.length === 0) return;
  throw new Error(
    `the sessions of the pooler lack settings that Jobferry cannot make through it: let the pooler run "set ${wrong.join('; set ')}" ` +
      'on each new connection to the server (connect_query of PgBouncer)',
  );
}

export async function isPooler(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<Pick<SessionFacts, 'pid'>>('select pg_backend_pid() as pid');
  return rows[0] !== undefined && isOfPooler(client, rows[0]);
}

/** A pooler reports a process id of its own at the start of a connection. */
function isOfPooler(client: pg.ClientBase, { pid }: Pick<SessionFacts, 'pid'>): boolean {
  return (client as { processID?: number | null }).processID !== pid;
}

async function factsOf(pool: pg.Pool): Promise<{ facts: SessionFacts; isPooler: boolean }> {
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
