import type pg from 'pg';
import { isNews, migrationRefusal, olderThan, type Release, type RunningProcess } from '../../domain/release.ts';
import { OLDEST_BESIDE, VERSION } from '../../process/version.ts';
import type { Database, Statement } from '../connection/database.ts';
import { RUNNING } from '../insight/instances.ts';
import type { Queryable } from './migrations.ts';

/** Which release migrated the database last, and the oldest one that may run beside it (docs/decisions/0039). */

export const OWN_RELEASE: Release = { version: VERSION, oldestBeside: OLDEST_BESIDE };

const STORED = 'select version, oldest_beside as "oldestBeside" from schema_release where is_only_row';
const PRESENT: Statement = {
  name: 'present-release',
  text: 'select version, oldest_beside as "oldestBeside", moved_at as "movedAt" from schema_release where is_only_row',
};

/** @returns null before the first start has stored it. The first migration has to be there. */
export async function storedRelease(database: Queryable): Promise<Release | null> {
  const { rows } = await database.query<Release>(STORED);
  return rows[0] ?? null;
}

/** `movedAt`: when `backup --final` has moved the database to another place; null if it has not. */
type PresentRelease = Release & { movedAt: Date | null };

/** Reads the release for a process that was started on the database, so that the table is there. */
export function presentRelease(db: Database): Promise<PresentRelease | null> {
  return db.one<PresentRelease>(PRESENT);
}

/**
 * Stores the release, unless that of the database is later. It runs in each transaction that changes the schema, so a
 * process that finds something later also finds whose it is. The caller holds the lock of migrations.
 */
export async function noteRelease(client: pg.Client, release: Release, before: Release | null): Promise<void> {
  if (!isNews(release, before)) return;
  await client.query(
    `insert into schema_release (version, oldest_beside) values ($1, $2)
     on conflict (is_only_row) do update
        set version = excluded.version, oldest_beside = excluded.oldest_beside, noted_at = excluded.noted_at`,
    [release.version, release.oldestBeside],
  );
}

/** @throws Error while processes run that may not run beside this release. The first migration has to be there. */
export async function refuseWhileOlderRun(database: Queryable, release: Release): Promise<void> {
  const { rows } = await database.query<RunningProcess>(RUNNING);
  const older = olderThan(rows, release.oldestBeside);
  if (older.length > 0) throw new Error(migrationRefusal(older, release));
}
