import pg from 'pg';
import type { Database, DatabaseLog, Statement } from './database.ts';
import { CALL_CHANNEL, type CallReason, readCall } from './wake-ups.ts';

/** First key of the advisory locks that worker processes hold; the second is their number. */
const LOCK_CLASS = 0x6a66;

/**
 * The life sign of a worker process: a session advisory lock on its number, on a connection of its
 * own. The server drops the lock with the connection, so a killed process is known within seconds.
 */
export interface LifeSign {
  readonly workerId: number;
  /** Resolves when the connection, and with it the lock, is lost. */
  readonly lost: Promise<void>;
  release(): Promise<void>;
}

export interface LifeSignOptions {
  url: string;
  log: DatabaseLog;
  /** A queue may have work, says another process. What is said while the connection is lost is lost, too. */
  onCall(queueId: string, reason: CallReason): void;
}

/**
 * Takes a new number, or again the one of a life sign that was lost: claims under it are still ours.
 * @throws when the server cannot be reached, or has not yet noticed that our old connection is gone
 */
export async function giveLifeSign(options: LifeSignOptions, formerId: number | null): Promise<LifeSign> {
  const { url, log, onCall } = options;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'jobferry life sign',
    connectionTimeoutMillis: 3000,
    query_timeout: 4500,
    keepAlive: true,
  });
  const lost = new Promise<void>((resolve) => client.once('end', resolve));
  client.on('error', (error) => {
    log.warn({ err: error }, 'life sign connection lost');
    void client.end().catch(() => undefined);
  });
  client.on('notification', ({ payload }) => {
    const { reason, queueIds } = readCall(payload ?? '');
    for (const queueId of queueIds) onCall(queueId, reason);
  });
  try {
    await client.connect();
    const taken = await client.query<{ id: number; locked: boolean }>(
      `select id, pg_try_advisory_lock(${LOCK_CLASS}, id) as locked
         from (select coalesce($1, nextval('jobferry_worker_id_seq'))::integer as id offset 0) as number`,
      [formerId],
    );
    const number = taken.rows[0];
    if (!number?.locked) throw new Error('the worker number is still in use');
    await client.query(`listen ${CALL_CHANNEL}`);
    return { workerId: number.id, lost, release: () => client.end() };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

// A worker with claims and without its lock. It may only be reconnecting: see worker/liveness.
const SILENT: Statement = {
  name: 'silent-workers',
  text: `
    select distinct j.worker_id from job j
     where j.status = 'processing'
       and j.worker_id not in (
         select objid::integer from pg_locks
          where locktype = 'advisory' and classid = ${LOCK_CLASS} and granted
            and database = (select oid from pg_database where datname = current_database()))`,
};

/** Numbers of workers that have claims and give no life sign. */
export async function silentWorkers(db: Database): Promise<number[]> {
  const rows = await db.query<{ worker_id: number }>(SILENT);
  return rows.map((row) => row.worker_id);
}
