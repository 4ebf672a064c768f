import pg from 'pg';
import { KEEP_ALIVE } from '../connection/keep-alive.ts';
import { type Cluster, SUPERUSER } from './cluster.ts';
import { InUseError, inUse, type OwnerRole } from './folder-lock.ts';
import { isAlive } from './server-process.ts';

/** Key of the session advisory lock whose holder owns the cluster. The lock is in the database `postgres`. */
const OWNER_LOCK = 0x6a6f62;

/** The owner is no process of this machine: most likely it was killed, and the server is about to notice. */
export class LeftError extends Error {
  override readonly name = 'LeftError';
}

/** Connects and takes the owner's lock, which lasts as long as the connection. */
export async function own(cluster: Cluster, port: number, role: OwnerRole): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: urlOf(cluster, port, 'postgres'),
    application_name: `jobferry ${role === 'command' ? 'command ' : ''}${process.pid}`,
    connectionTimeoutMillis: 5000,
    ...KEEP_ALIVE,
  });
  // Errors are ignored, because the event `end` follows and is handled.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${OWNER_LOCK}) as locked`);
    if (rows[0]?.locked !== true) throw await refusal(cluster, client);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

async function refusal(cluster: Cluster, client: pg.Client): Promise<InUseError | LeftError> {
  const { rows } = await client.query<{ command: boolean; pid: number | null }>(
    `select starts_with(a.application_name, 'jobferry command ') as command,
            substring(a.application_name from '^jobferry (?:command )?([0-9]+)$')::integer as pid
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = ${OWNER_LOCK}`,
  );
  const { pid = null, command = false } = rows[0] ?? {};
  const message = inUse(cluster.folder, pid === null ? 'another process' : `process ${pid}`);
  return pid === null || isAlive(pid) ? new InUseError(message, { isByCommand: command }) : new LeftError(message);
}

/** The server has no TLS, which PGSSLMODE of the shell would ask for. */
export function urlOf(cluster: Cluster, port: number, database: string): string {
  return `postgresql://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}
