import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { createApi } from '../../test/support/api.ts';
import { checkOut } from '../../test/support/checkout.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { HANDBOOK } from '../../test/support/handbook.ts';
import { statusOf } from '../../test/support/status.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/**
 * The command blocks of the handbook, as printed, in a clean folder: only places for names, addresses and secrets are
 * filled in. The first one installs, builds and starts the service that the others use.
 */

const run = promisify(execFile);
const KEY = 'key-of-the-handbook-test';
const blocks = Array.from(HANDBOOK.matchAll(/^ *```(sh|sql)\n([\s\S]*?)^ *```$/gm), ([, kind, text = '']) => ({
  kind,
  text: text.trim(),
}));
const [INSTALL = { text: '' }, ...others] = blocks.filter(({ kind }) => kind === 'sh');

/** Blocks by their beginning, in the order in which they can be run. */
const ORDER = [
  'node dist/main.js account create',
  'node dist/main.js key create --account ID --name shop',
  'node dist/main.js queue list --account ID',
  'curl -sS http://127.0.0.1:8080/graphql',
  'rm -f /backups/jobferry-new',
  'node dist/main.js migrate --status',
  'node dist/main.js queue list --name orders',
  'node dist/main.js doctor',
  'node dist/main.js backup /backups/jobferry-today\n',
  'node dist/main.js account delete ID',
  'node dist/main.js restore /backups/jobferry-today --account ID',
  'node dist/main.js account set-operator ID',
  'psql -Atc "select id from job',
];

/**
 * Exit codes that are not 0, by the beginning of the block. A file checked in its own database is whole;
 * its accounts are there.
 */
const ENDS_WITH: Readonly<Record<string, number>> = { 'node dist/main.js backup /backups/jobferry-today\n': 3 };

/** Blocks that are not run, by their beginning, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'DATABASE_URL=postgres://jobferry:…@pgbouncer': 'values of variables only: test/e2e/pooler.test.ts',
  "DATABASE_URL='postgres://jobferry:…@db1": 'the value of a variable only: test/e2e/several-hosts.test.ts',
  'DATABASE_REPLICA_URL=': 'the value of a variable only: test/e2e/replica.test.ts',
  'DATABASE_URL=postgres://jobferry:…@db.example:5432/jobferry node dist/main.js migrate --grant-to':
    'its second line serves in the foreground: test/e2e/runtime-role.test.ts runs both',
  'kill -USR2 PID': 'reads the journal of systemd: test/e2e/signals.test.ts sends the signal',
  'node dist/main.js backup /backups/move --final': 'refused while the service runs: test/e2e/backing-up.test.ts moves',
  'createdb beside': 'serves in the foreground; its commands are in other blocks',
};

const folder = await mkdtemp(join(tmpdir(), 'jobferry-handbook-'));
const checkout = join(folder, 'jobferry');
const port = await freePort();
const base = `http://127.0.0.1:${port}`;
const { url } = await createTestDatabase({ empty: true });
const env = { PATH: process.env.PATH, HOME: process.env.HOME };
let output = '';
let exitCode: number | null = null;
const ids = { account: '', key: '', queue: '', job: '' };

async function shell(text: string): Promise<string> {
  const given = { ...env, NODE_ENV: 'production', DATABASE_URL: url, KEY, JOBFERRY: base, LOG_LEVEL: 'warn' };
  const { stdout } = await run('bash', ['-e', '-o', 'pipefail', '-c', text], { cwd: checkout, env: given });
  return stdout;
}

/** @returns the block with its places filled in */
async function filled(text: string): Promise<string> {
  const other = text.includes('@db.example') ? (await createTestDatabase({ empty: true })).url : '';
  const full = text
    .replaceAll(/DATABASE_URL=\S+@db\.example\S*/g, `DATABASE_URL='${other}'`)
    .replaceAll('/backups/', `${folder}/backups/`)
    .replaceAll('/var/lib/node_exporter/', `${folder}/`)
    .replaceAll('http://127.0.0.1:8080', base)
    .replaceAll('key revoke ID', `key revoke ${ids.key}`)
    .replaceAll('job show ID', `job show ${ids.job}`)
    .replaceAll(/(queueId: \\"|queue_id = ')ID/g, `$1${ids.queue}`)
    .replaceAll(/\bID\b/g, ids.account)
    .replaceAll('--confirm NAME', '--confirm acme');
  expect(full).not.toContain('…');
  return full;
}

beforeAll(async () => {
  await checkOut(checkout);
  await rm(join(checkout, 'node_modules'));
  await mkdir(join(folder, 'backups'));
  const script = INSTALL.text
    .replace(/DATABASE_URL=\S+/, `DATABASE_URL='${url}'`)
    .replace('BOOTSTRAP_API_KEY=…', `BOOTSTRAP_API_KEY=${KEY}`);
  expect(script).not.toContain('…');
  // A process group of its own, so that npm and the service end with it.
  const installed = spawn('bash', ['-e'], {
    cwd: checkout,
    env: { ...env, PORT: String(port), HOST: '127.0.0.1' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  for (const stream of [installed.stdout, installed.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const ended = new Promise<void>((resolve) => {
    installed.once('close', (code) => {
      exitCode = code ?? -1;
      resolve();
    });
  });
  installed.stdin.end(`${script}\n`);
  const isReady = async () => exitCode !== null || (await statusOf(base, '/readyz')) === 200;
  await waitFor(isReady, { message: 'the service to be ready', timeoutMs: 280_000, everyMs: 500 });
  return async () => {
    if (installed.pid !== undefined && exitCode === null) process.kill(-installed.pid, 'SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
}, 300_000);

it('the first block installs, builds and starts the service', () => {
  expect({ exitCode, output }).toMatchObject({ exitCode: null });
});

it('each of the others is run, or has a reason why not', () => {
  const known = [...ORDER, ...Object.keys(NOT_RUN)];
  expect(others.filter(({ text }) => !known.some((start) => text.startsWith(start)))).toEqual([]);
  expect(known.filter((start) => !others.some(({ text }) => text.startsWith(start)))).toEqual([]);
});

it('has an account, a queue and a job for them', async () => {
  const json = async (command: string) => JSON.parse(await shell(`node dist/main.js ${command} --json`));
  ids.account = (await json('account create --name acme --plan pro')).id;
  ids.key = (await json(`key create --account ${ids.account}`)).id;
  const api = createApi(base, KEY);
  const queue = await api.createQueue({ name: 'orders', webhookUrl: 'https://hooks.example.com/' });
  ids.queue = queue.id;
  await shell('node dist/main.js queue pause orders');
  ids.job = (await api.publish('orders', { payload: {}, idempotencyKey: 'order-7' })).id;
});

it.each(ORDER)('%s', async (start) => {
  const text = others.find((block) => block.text.startsWith(start))?.text ?? '';
  if (start.startsWith('psql'))
    await shell(`curl -sSf -X DELETE ${base}/v1/queues/${ids.queue} -H "authorization: Bearer $KEY"`);
  const expected = ENDS_WITH[start] ?? 0;
  const printed = await shell(await filled(text)).catch((error: { code?: number; stdout?: string }) => {
    if (error.code !== expected) throw error;
    return error.stdout ?? '';
  });
  if (start.startsWith('curl')) expect(printed).toContain('"takesOverAt":"');
});

it('each statement of SQL is accepted', async () => {
  const texts = blocks.filter(({ kind }) => kind === 'sql').map(({ text }) => text.replaceAll('…', 'secret'));
  const [create = '', ...others] = texts;
  const name = `handbook_${port}`;
  onTestFinished(async () => {
    await sql([`drop database if exists ${name}`, `drop role if exists ${name}`]);
  });
  // A database cannot be created within a transaction, and the names of the handbook may be taken on this server.
  await sql(create.replaceAll(/\bjobferry\b/g, name).split(/;$/m));
  // A role belongs to the whole server, so nothing is kept.
  await sql([`begin;\n${others.join('\n')}\nrollback;\n`]);
  expect(others.length).toBeGreaterThan(3);
});

/** Each text is a request of its own. */
const sql = (texts: readonly string[]) =>
  run(
    'psql',
    ['-v', 'ON_ERROR_STOP=1', ...texts.filter((text) => text.trim() !== '').flatMap((text) => ['-c', text]), url],
    { env },
  );
