import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openCluster, startServer, stopServer } from '../../../dist/src/db/embedded/cluster.js';
import { runAs } from '../../../dist/src/db/embedded/server-user.js';
import { cpuOfFamily } from '../measure/processes.mjs';
import { query } from './postgres.mjs';

const quiet = { info: () => undefined, warn: () => undefined };
const FOLLOWS_MS = 60_000;
/** Files that each server makes for itself, or reads from the write-ahead log that it streams. */
const OWN_FILES = ['pg_wal/*', 'postmaster.*', 'pg_replslot/*', 'pg_dynshmem/*', 'pg_notify/*', 'pg_stat_tmp/*', 'pgsql_tmp*'];

/**
 * A standby of the server, whose files are beside the server's. Commits do not wait for it, so that the rate can be
 * compared with that of a server alone. `url` leads to a database of the server; the result's to the same one on the
 * standby.
 */
export async function startStandby(server, url) {
  const primary = await openCluster(server.dataDir, quiet);
  const { port } = new URL(url);
  const dataDir = await mkdtemp(join(dirname(server.dataDir), 'jobferry-bench-standby-'));
  // It must find what is written before it follows, and while it is behind.
  await setting(url, "set wal_keep_size = '2GB'");
  await copyFiles(primary, url, dataDir);
  const cluster = await openCluster(dataDir, quiet);
  const way = `host=127.0.0.1 port=${port} user=jobferry password=${primary.password}`;
  await writeAs(cluster.user, join(cluster.folder, 'local.conf'), `primary_conninfo = '${way}'\n`);
  await writeAs(cluster.user, join(cluster.folder, 'standby.signal'), '');
  const standbyPort = await startServer(cluster);
  const stop = async () => {
    await stopServer(cluster);
    await setting(url, 'reset wal_keep_size');
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await follows(url);
    const [pid] = (await readFile(join(cluster.folder, 'postmaster.pid'), 'utf8')).split('\n');
    const standbyUrl = Object.assign(new URL(url), { port: String(standbyPort) }).href;
    return { url: standbyUrl, cpu: () => cpuOfFamily(Number(pid)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function setting(url, text) {
  await query(url, `alter system ${text}`);
  await query(url, 'select pg_reload_conf()');
}

async function copyFiles({ folder, user }, url, dataDir) {
  const target = join(dataDir, 'postgres');
  const backup = new pg.Client({ connectionString: url });
  backup.on('error', () => undefined);
  await backup.connect();
  try {
    await backup.query(`select pg_backup_start('bench', true)`);
    if (user !== null) await runAs(null, 'chown', [`${user.uid}:${user.gid}`, dataDir]);
    const without = OWN_FILES.map((path) => `--exclude='./${path}'`).join(' ');
    const script = `mkdir -m 700 "$2" && tar -c -C "$1" ${without} . | tar -x -C "$2"`;
    await runAs(user, '/bin/sh', ['-c', script, 'sh', folder, target]);
    const { rows } = await backup.query('select labelfile from pg_backup_stop(false)');
    await writeAs(user, join(target, 'backup_label'), rows[0].labelfile);
  } finally {
    await backup.end();
  }
}

async function writeAs(user, path, text) {
  await writeFile(path, text, { mode: 0o600 });
  if (user !== null) await runAs(null, 'chown', [`${user.uid}:${user.gid}`, path]);
}

async function follows(url) {
  const giveUpAt = performance.now() + FOLLOWS_MS;
  while ((await query(url, `select from pg_stat_replication where state = 'streaming'`)).length === 0) {
    if (performance.now() > giveUpAt) throw new Error('the standby does not follow');
    await pause(100);
  }
}
