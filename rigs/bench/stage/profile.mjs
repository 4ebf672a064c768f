import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { query } from './postgres.mjs';

const FOLDER = fileURLToPath(new URL('../results/profiles/', import.meta.url));

/** For Node: a profile of the whole life of the process, to open in a browser's developer tools. */
export function profilingArguments(role) {
  return ['--cpu-prof', `--cpu-prof-dir=${FOLDER}`, `--cpu-prof-name=${role}-${Date.now()}.cpuprofile`];
}

export async function resetStatements(databaseUrl) {
  await query(databaseUrl, 'select pg_stat_statements_reset()');
}

/** The statements that took the database most time since the reset. */
export async function writeStatements(databaseUrl) {
  const rows = await query(
    databaseUrl,
    `select calls, round(total_exec_time::numeric, 1) as total_ms, round(mean_exec_time::numeric, 3) as mean_ms, rows,
            shared_blks_hit, shared_blks_read, shared_blks_dirtied, wal_records, wal_bytes, left(query, 300) as query
       from pg_stat_statements
      where dbid = (select oid from pg_database where datname = current_database())
      order by total_exec_time desc limit 30`,
  );
  await mkdir(FOLDER, { recursive: true });
  await writeFile(`${FOLDER}statements-${Date.now()}.json`, `${JSON.stringify(rows, null, 2)}\n`);
}
