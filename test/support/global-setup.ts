import { spawnSync } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbedded } from '../../src/db/embedded/server.ts';
import { migrate } from '../../src/db/schema/migrate.ts';
import { installWakeUps } from '../../src/worker/wake-ups/runner.ts';
import { NO_BROWSER } from '../browser/no-browser.ts';
import { checkGivenServer, GIVEN_SERVER } from './given-server.ts';

const TEMPLATE = 'jobferry_template';
const quiet = { info: () => undefined, warn: () => undefined };

/**
 * One PostgreSQL server for the whole run, with a migrated database that test files clone. `TEST_DATABASE_URL` names
 * another server, of another version for instance, whose database `jobferry_template` is replaced.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // `npm run test:one -- --mode unit`
  if (project.vitest.projects.every(({ name }) => name === 'unit')) return async () => undefined;
  if (NO_BROWSER !== null) console.log(`The tests of the dashboard in a browser are skipped: ${NO_BROWSER}.`);
  if (GIVEN_SERVER !== undefined) {
    const version = await checkGivenServer(GIVEN_SERVER);
    console.log(
      `The tests run on PostgreSQL ${version} of TEST_DATABASE_URL. Those that start or stop a server are skipped.`,
    );
    await createTemplate(GIVEN_SERVER);
    project.provide('postgresUrl', GIVEN_SERVER);
    project.provide('templateDatabase', TEMPLATE);
    return async () => undefined;
  }
  const dataDir = await mkdtemp(join(await folderForData(), 'jobferry-test-'));
  // Many services at once, with two dozen connections each, and more databases than vacuum has to visit every ten
  // seconds.
  const first = await startEmbedded({ dataDir, log: quiet });
  await appendFile(
    join(dataDir, 'postgres', 'local.conf'),
    'max_connections = 800\nmax_prepared_transactions = 10\nautovacuum_naptime = 5min\n',
  );
  await first.stop();
  const server = await startEmbedded({ dataDir, log: quiet });
  await shortenPassword(server.url);
  const abandon = () => abandonServer(dataDir);
  process.once('exit', abandon);
  const stop = async () => {
    process.off('exit', abandon);
    await noteCpu(dataDir);
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await createTemplate(server.url);
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide('postgresUrl', server.url);
  project.provide('templateDatabase', TEMPLATE);
  return stop;
}

/**
 * A file system in memory when there is one with 6 GiB free: the tests create and drop a thousand databases of 300
 * files, and a disk's file system becomes slow at that (ext4 does not use the number of a deleted file again for five
 * seconds).
 */
async function folderForData(): Promise<string> {
  const free = await statfs('/dev/shm').then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return free >= 6 * 1024 ** 3 ? '/dev/shm' : tmpdir();
}

/**
 * A process that is told to end by a signal calls no teardown,
 * and the server would outlive it with a folder of gigabytes.
 */
function abandonServer(dataDir: string): void {
  spawnSync('sh', [
    '-c',
    'kill -QUIT "$(head -n 1 "$0/postgres/postmaster.pid")"; rm -rf "$0" || rm -rf "$0"',
    dataDir,
  ]);
}

/** Tells scripts/test.mjs what the server and its sessions took: it is a child of no process of the tests. */
async function noteCpu(dataDir: string): Promise<void> {
  const file = process.env.TEST_CPU_FILE;
  if (file === undefined || process.platform !== 'linux') return;
  const [pid] = (await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n');
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ').slice(11, 15) ?? [];
  // In hundredths of a second.
  await writeFile(file, String(fields.reduce((sum, ticks) => sum + Number(ticks), 0) / 100));
}

/** With one round instead of 4096 for each connection on both sides: the tests open some ten thousand. */
async function shortenPassword(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('set scram_iterations = 1');
  const { username, password } = new URL(url);
  const literal = client.escapeLiteral(decodeURIComponent(password));
  await client.query(`alter role ${client.escapeIdentifier(decodeURIComponent(username))} password ${literal}`);
  await client.end();
}

async function createTemplate(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`drop database if exists ${TEMPLATE}`);
  await client.query(`create database ${TEMPLATE}`);
  await client.end();

  const template = new URL(serverUrl);
  template.pathname = `/${TEMPLATE}`;
  await migrate({ url: template.href, log: quiet, afterMigrations: () => installWakeUps(template.href) });
}
