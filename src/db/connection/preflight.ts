import type pg from 'pg';
import { NO_CONNECTION_LEFT } from '../../domain/doctor-connections.ts';
import { type ReplicationFacts, type ReplicationFault, replicationFaults } from '../../domain/replication.ts';
import { OLDEST_SERVER, type ServerSettings } from '../../domain/server-settings.ts';
import { isNoConnectionLeft } from './database.ts';
import { POOLER } from './pooler.ts';
import { replicationFacts } from './replication.ts';

/**
 * Refuses a server that cannot keep Jobferry's promises: a job whose publish was answered with 201 must survive a power
 * cut and a failover, and payloads are stored byte for byte (D26).
 * @param options `name`: the database in words, for messages
 * @returns what the operator should know about standbys, though the server can be used
 * @throws Error with a message for the operator
 */
export async function preflight(
  database: Pick<pg.Pool, 'query'>,
  options: { allowUnsafe: boolean; name: string },
): Promise<ReplicationFault[]> {
  const facts = await readFacts(database, options.name);
  if (facts.version < OLDEST_SERVER * 10_000) {
    const version = `${Math.floor(facts.version / 10_000)}.${facts.version % 10_000}`;
    throw new Error(`PostgreSQL ${version} is too old: Jobferry needs ${OLDEST_SERVER} or later`);
  }
  if (facts.encoding !== 'UTF8') {
    throw new Error(`the database has the encoding ${facts.encoding}: create it with encoding 'UTF8'`);
  }
  if (facts.standby) throw new Error('DATABASE_URL leads to a standby, which cannot be written to');

  const unsafe = (['fsync', 'synchronous_commit', 'full_page_writes'] as const).filter((name) => facts[name] === 'off');
  if (unsafe.length > 0 && !options.allowUnsafe) {
    throw new Error(
      `PostgreSQL runs with ${unsafe.join(' and ')} off, so a crash could lose jobs that were accepted: ` +
        'switch it on, or set ALLOW_UNSAFE_DURABILITY=1 if that is what you want',
    );
  }
  const faults = replicationFaults(
    await replicationFacts(async (text) => (await database.query<ReplicationFacts>(text)).rows),
  );
  const refused = options.allowUnsafe ? undefined : faults.find(({ isUnsafe }) => isUnsafe);
  if (refused !== undefined) {
    throw new Error(`${refused.what}: ${refused.fix}, or set ALLOW_UNSAFE_DURABILITY=1 if that is what you want`);
  }
  return faults;
}

/** The columns of `ServerSettings`, as SQL. */
export const SERVER_SETTINGS = `
  current_setting('server_version_num')::integer as version,
  current_setting('server_encoding') as encoding,
  pg_is_in_recovery() as standby,
  current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('full_page_writes') as full_page_writes`;

async function readFacts(database: Pick<pg.Pool, 'query'>, name: string): Promise<ServerSettings> {
  try {
    const { rows } = await database.query<ServerSettings>(`select ${SERVER_SETTINGS}`);
    const facts = rows[0];
    if (facts === undefined) throw new Error('no row was returned');
    return facts;
  } catch (error) {
    throw unreachable(name, reasonOf(error), error);
  }
}

/** @returns why no statement can be sent to the database; null if one can */
export async function unreachableReason(database: Pick<pg.Pool, 'query'>): Promise<string | null> {
  return database.query('select 1').then(() => null, reasonOf);
}

/** @throws Error with a message for the operator if no statement can be sent to the database */
export async function assertReachable(database: Pick<pg.Pool, 'query'>, name: string): Promise<void> {
  const reason = await unreachableReason(database);
  if (reason !== null) throw unreachable(name, reason);
}

function unreachable(name: string, reason: string, cause?: unknown): Error {
  return new Error(reason === POOLER ? POOLER : `${name} cannot be reached: ${reason}`, { cause });
}

function reasonOf(error: unknown): string {
  // PgBouncer refuses so, before a query could show that it is one.
  if (describe(error).startsWith('unsupported startup parameter')) return POOLER;
  return isNoConnectionLeft(error) ? `${NO_CONNECTION_LEFT}: ${describe(error)}` : describe(error);
}

/** For a host with several addresses, Node throws one error without a message that contains an error per address. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(describe).join('; ');
  return error instanceof Error ? error.message : String(error);
}
