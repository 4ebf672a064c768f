import { type ChildProcess, spawn } from 'node:child_process';
import { access, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedDatabase, joinEmbedded, startEmbedded } from '../../src/db/embedded/server.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { info: () => undefined, warn: () => undefined };
const BUILT = new URL('../../dist/db/embedded/server.js', import.meta.url).href;

let dataDir = '';
const running: EmbeddedDatabase[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'jobferry-embedded-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const database of running.splice(0)) await database.stop();
});

afterAll(async () => {
  // A test that failed may have left a server behind: taking it over is the way to stop it.
  const last = await startEmbedded({ dataDir, log });
  await last.stop();
  await rm(dataDir, { recursive: true });
});

async function start(): Promise<EmbeddedDatabase> {
  const database = await startEmbedded({ dataDir, log });
  running.push(database);
  return database;
}

async function ask(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return Object.values((await client.query<Record<string, unknown>>(statement)).rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

async function serverPid(): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8'), 10);
}

/** Another process that starts the server: in a group of its own, like a command in a terminal. */
async function startInChild(): Promise<{ child: ChildProcess; url: string }> {
  await access(new URL(BUILT)).catch(() => {
    throw new Error('dist/ is missing: run `npm run build` first');
  });
  const script = `
    import { startEmbedded } from ${JSON.stringify(BUILT)};
    const log = { info() {}, warn() {} };
    process.on('SIGINT', () => console.log('interrupted'));
    console.log((await startEmbedded({ dataDir: process.argv[1], log })).url);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return { child, url: await nextLine(child) };
}

function nextLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve);
  });
}

describe.skipIf(hasGivenServer)('embedded PostgreSQL', () => {
  it('keeps its promises about durability, text and access', async () => {
    const { url } = await start();
    expect(await ask(url, 'show fsync')).toBe('on');
    expect(await ask(url, 'show synchronous_commit')).toBe('on');
    expect(await ask(url, 'show listen_addresses')).toBe('127.0.0.1');
    expect(await ask(url, 'show server_encoding')).toBe('UTF8');
    expect(await ask(url, `select datlocale from pg_database where datname = current_database()`)).toBe('C.UTF-8');
    const stranger = new URL(url);
    stranger.password = 'guessed';
    await expect(ask(stranger.href, 'select 1')).rejects.toThrow(/password authentication failed/);
    expect((await stat(join(dataDir, 'postgres/jobferry.password'))).mode & 0o777).toBe(0o600);
  });

  it('keeps its data, its password and nothing unfinished over a restart', async () => {
    const first = await start();
    await ask(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await start();
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
    expect(await ask(second.url, 'select answer from kept')).toBe(42);
    expect((await readdir(dataDir)).filter((name) => name.includes('.new-'))).toEqual([]);
  });

  it('refuses a data folder in use, and names the process that uses it', async () => {
    const { url } = await start();
    const again = startEmbedded({ dataDir, log });
    await expect(again).rejects.toThrow(new RegExp(`in use by another Jobferry \\(process ${process.pid}\\)`));
    expect(await ask(url, 'select 1')).toBe(1);
  });

  it('lets an admin command join a server in use, without stopping it', async () => {
    const { url } = await start();
    const guest = await joinEmbedded({ dataDir, log });
    expect(guest.url).toBe(url);
    await guest.stop();
    expect(await ask(url, 'select 1')).toBe(1);
  });

  it('gives one of two that start together the server', async () => {
    const results = await Promise.allSettled([startEmbedded({ dataDir, log }), startEmbedded({ dataDir, log })]);
    const started = results.filter((result) => result.status === 'fulfilled').map((result) => result.value);
    running.push(...started);
    expect(started).toHaveLength(1);
    expect(await ask(started[0]?.url ?? '', 'select 1')).toBe(1);
  });

  it('takes over the server of a process that was killed', async () => {
    const { child, url } = await startInChild();
    await ask(url, 'create table if not exists left_over (id integer)');
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const database = await start();
    expect(await ask(database.url, `select to_regclass('left_over') is not null`)).toBe(true);
  });

  it.skipIf(process.platform === 'win32')('does not get the Ctrl-C of the terminal', async () => {
    const { child, url } = await startInChild();
    const heard = nextLine(child);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    expect(await heard).toBe('interrupted');
    expect(await ask(url, 'select 1')).toBe(1);
  });

  it.skipIf(process.platform === 'win32')('comes back at the same address when its server is killed', async () => {
    const { url } = await start();
    const pid = await serverPid();
    process.kill(pid, 'SIGKILL');
    await waitFor(async () => (await serverPid()) !== pid && (await ask(url, 'select 1')) === 1, {
      message: 'the server to come back',
    });
  });
});
