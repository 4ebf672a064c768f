import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Database } from '../../src/db/connection/database.ts';
import { atEndOfFile } from './end-of-file.ts';

/** An empty folder, removed when the test file is done. */
export async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-backup-'));
  atEndOfFile(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes another version of a backup: its lines, changed. */
export async function rewritten(
  file: string,
  to: string,
  change: (lines: string[]) => string[] | undefined,
): Promise<string> {
  const lines = gunzipSync(await readFile(file))
    .toString()
    .split('\n')
    .slice(0, -1);
  await writeFile(to, gzipSync(`${(change(lines) ?? lines).join('\n')}\n`));
  return to;
}

type Row = Record<string, unknown>;

/** All rows of the tables, by table, as PostgreSQL writes them. */
export async function rowsOf(db: Pick<Database, 'query'>, tables: readonly string[]): Promise<Record<string, Row[]>> {
  const found: Record<string, Row[]> = {};
  for (const table of tables) {
    const rows = await db.query<{ row: Row }>(
      `select row_to_json(t) as row from "${table}" t order by row_to_json(t)::text`,
    );
    found[table] = rows.map(({ row }) => row);
  }
  return found;
}

/**
 * Sets the clock of the database forward, so that a restore need not wait until the statistics have passed the backup.
 */
export async function aheadOfBackup(db: Pick<Database, 'query'>, minutes = 2): Promise<void> {
  await db.query(`create or replace function jobferry_now() returns timestamptz language sql volatile parallel safe
    as $$ select date_trunc('milliseconds', clock_timestamp() + interval '${minutes} minutes') $$`);
}
