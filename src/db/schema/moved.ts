import type pg from 'pg';
import { BackupError } from '../../domain/backup.ts';
import { movedAway } from '../../domain/release.ts';
import type { Address } from '../connection/address.ts';
import { type Database, MOVED, sqlStateOf } from '../connection/database.ts';
import { BACKED_UP } from '../operator/backup/tables.ts';
import { inSession } from '../operator/session.ts';
import { inTransaction } from './migrations.ts';
import { presentRelease } from './release.ts';

/**
 * The mark of a database that `backup --final` has moved to another place. No process starts on it, and triggers refuse
 * each change of what was moved: a process that was suspended or cut off meanwhile has read no mark.
 */

/** The backup itself sums up statistics. */
const SUMS = new Set(['queue_stats', 'queue_completed', 'recent_stats', 'recent_completed']);
const GUARDED = BACKED_UP.map(({ name }) => name).filter((name) => !SUMS.has(name));

const guard = (table: string) => `
  create or replace trigger jobferry_moved before insert or update or delete on ${table}
    for each statement execute function jobferry_refuse_moved()`;
/** Each trigger waits for the transactions that change its table, so the backup has whatever was accepted before. */
const REFUSE = `
  create or replace function jobferry_refuse_moved() returns trigger language plpgsql as $$
  begin
    raise sqlstate '${MOVED}' using message = 'this database was moved to another place (\`backup --final\`)';
  end
  $$;
  ${GUARDED.map(guard).join(';')}`;

const WAY_BACK = 'drop function if exists jobferry_refuse_moved() cascade; update schema_release set moved_at = null';

/** The remedy, for an operator. */
export const STAY_MOVED = `start the service on the other database. Only if that one was never used: ${WAY_BACK}`;

/** Only a transaction that was abandoned lasts longer than this. */
const MAX_WAIT = '10s';

/**
 * @throws BackupError with a message for the operator if the role does not own the tables, or a transaction holds them
 */
export async function markMoved(at: { db: Database; url: Address }, isMoved: boolean): Promise<void> {
  await inSession({ ...at, name: 'jobferry backup' }, (client) =>
    inTransaction(client, () => change(client, isMoved)).catch((error: unknown) => {
      throw explained(error);
    }),
  );
}

async function change(client: pg.Client, isMoved: boolean): Promise<void> {
  await client.query(`set local lock_timeout = '${MAX_WAIT}'`);
  if (!isMoved) {
    await client.query(WAY_BACK);
    return;
  }
  await client.query(REFUSE);
  await client.query('update schema_release set moved_at = jobferry_now()');
}

function explained(error: unknown): unknown {
  const sqlState = sqlStateOf(error);
  if (sqlState === '42501') {
    return new BackupError(
      '--final makes triggers, so it needs the database role that owns the tables, as `migrate` does',
    );
  }
  if (sqlState === '55P03') {
    return new BackupError(
      'a transaction still changes the tables: `doctor` (locks) names it and the statement that ends it',
    );
  }
  return error;
}

/** @throws Error with a message for the operator if the database was moved to another place */
export async function assertNotMoved(db: Database): Promise<void> {
  const at = await movedAt(db);
  if (at !== null) throw new Error(`${movedAway(at)}: ${STAY_MOVED}`);
}

/** When `backup --final` moved the database to another place; null if it has not. */
export async function movedAt(db: Database): Promise<Date | null> {
  return (await presentRelease(db))?.movedAt ?? null;
}
