import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { aheadOfBackup, openFolder } from '../support/backup.ts';
import { beginJobferry, type CommandResult, runJobferry } from '../support/command.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import { createGate, openReceiver, startService } from '../support/service.ts';
import { openServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** `backup` and `restore` as processes, beside a service that runs. */

const KEY = 'key-of-the-bootstrap-account';
/** A restore waits until the statistics have passed the time of the backup: 5 s, and more on a busy machine. */
const RESTORE_MS = 60_000;

let folder: string;
let files = 0;

beforeAll(async () => {
  folder = await openFolder();
});

const newFile = () => {
  files += 1;
  return join(folder, `backup-${files}`);
};

async function done<T>(args: string[], env: Record<string, string>): Promise<T> {
  const { code, stdout, stderr } = await runJobferry([...args, '--json'], env, RESTORE_MS);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

type Row = Record<string, unknown>;

async function rowsOf(url: string, query: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client
    .query<{ row: Row }>(`select row_to_json(t) as row from (${query}) t`)
    .then(({ rows }) => rows.map(({ row }) => row))
    .finally(() => client.end());
}

async function embeddedUrl(dataDir: string): Promise<string> {
  const of = (name: string) => readFile(join(dataDir, 'postgres', name), 'utf8');
  const [password, lock] = [await of('jobferry.password'), await of('postmaster.pid')];
  return `postgresql://jobferry:${password.trim()}@127.0.0.1:${lock.split('\n')[3]}/jobferry`;
}

/** Rows that never change once they are written, and those of ended jobs. */
const LASTING = {
  attempts: 'select * from attempt order by job_id, ordinal',
  jobs: `select id, queue_id, status, payload, idempotency_key, attempts, created_at, completed_at, dead_at, dead_reason, last_error,
                history_count from job where status in ('completed', 'dead') order by id`,
  letters: 'select * from dead_letter order by id',
  keys: 'select id, account_id, hash, prefix, last_four, created_at, revoked_at, scopes, queues, expires_at from api_key order by id',
  audit: `select * from audit_entry where action <> 'account.restore' order by id`,
};

describe.skipIf(hasGivenServer)('an account moves', () => {
  const ODD = '{ "big":9007199254740993, "z":1e400, "a":-0, "a":"\\u0000\\ud800 \u00e4\u{1f511}" }';
  const gate = createGate();
  let source: Awaited<ReturnType<typeof startService>>;
  let embedded: { jobferry: Jobferry; url: string; env: Record<string, string> };
  let accountId: string;
  /** Ids of jobs by what became of them before the backup. */
  let ids: Record<'done' | 'dead' | 'awaiting' | 'hanging' | 'delayed', string>;

  afterAll(() => gate.open());

  it('an account moves from a running server into the embedded database of a running service', async () => {
    source = await startService();
    const receiver = await openReceiver(async (request) => {
      const { queue, attempt } = request.json();
      if (queue === 'ack') return { status: 202 };
      if (queue === 'dead') return { status: 500, body: 'no' };
      if (queue === 'hanging' && attempt === 1 && !existsSync(join(folder, 'restored'))) await gate.opened;
      return undefined;
    });
    const { api, databaseUrl } = source;
    const queue = async (name: string, more = {}) =>
      (await api.createQueue({ name, webhookUrl: receiver.url, ...more })).name;
    const publish = async (name: string, body = { payload: {} }) => (await api.publish(name, body)).id;
    const plain = await queue('plain');
    const odd = await api.publishRaw(plain, `{"payload":${ODD},"idempotencyKey":"odd"}`);
    ids = {
      done: odd.body.id,
      dead: await publish(await queue('dead', { maxAttempts: 1 })),
      awaiting: await publish(await queue('ack', { mode: 'ack' })),
      hanging: await publish(await queue('hanging')),
      delayed: (await api.publish(plain, { payload: {}, delay: 3600, idempotencyKey: 'later' })).id,
    };
    await api.waitForStatus(ids.done, 'completed');
    await api.waitForStatus(ids.dead, 'dead');
    await api.waitForStatus(ids.awaiting, 'awaiting_ack');
    await api.waitForStatus(ids.hanging, 'processing');
    accountId = String((await rowsOf(databaseUrl, 'select id from account'))[0]?.id);

    const file = newFile();
    const meanwhile = Promise.all(Array.from({ length: 100 }, () => publish(plain)));
    const made = await done<{ rows: Row }>(['backup', file], { DATABASE_URL: databaseUrl });
    expect(made.rows).toMatchObject({ account: 1, queue: 4, dead_letter: 1 });
    await meanwhile;

    const dataDir = await openFolder();
    const env = { DATA_DIR: dataDir };
    const jobferry = await startJobferry({ env: { ...env, BOOTSTRAP_API_KEY: 'key-of-another-account' } });
    embedded = { jobferry, env, url: await embeddedUrl(dataDir) };
    expect(await done(['restore', file, '--check'], env), 'beside an account that is younger').toMatchObject({
      refusal: null,
    });
    expect(await done(['restore', file, '--operator', '--check'], env)).toMatchObject({ refusal: null });
    const here = await runJobferry(['restore', file, '--check'], { DATABASE_URL: databaseUrl });
    expect(here, 'a check where it was made').toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/\n\nThe file is intact\.\nIt cannot be restored here: /),
    });
    const restored = await done<{ accounts: Row[] }>(['restore', file, '--operator'], env);
    expect(restored.accounts).toMatchObject([{ id: accountId, awaitingAck: 1, wasSuspended: false }]);
    expect(restored.accounts[0]?.interrupted).toBeGreaterThanOrEqual(1);

    for (const [what, query] of Object.entries(LASTING)) {
      const [there, here] = [await rowsOf(databaseUrl, query), await rowsOf(embedded.url, query)];
      const own = here.filter((row) => !('account_id' in row) || row.account_id === accountId);
      expect(own, what).not.toEqual([]);
      // The source went on after the backup.
      expect(there, what).toEqual(expect.arrayContaining(own));
    }
    const again = await runJobferry(['restore', file], env, RESTORE_MS);
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('exists here already') });
  });

  it('a moved account has working keys, and its jobs go on when the operator says so', async () => {
    await source.jobferry.stop();
    const api = createApi(embedded.jobferry.baseUrl, KEY);
    await waitFor(async () => (await api.call('GET', `/v1/jobs/${ids.done}`)).status === 200);
    expect((await api.call('GET', `/v1/jobs/${ids.done}`)).text, 'byte for byte').toContain(`"payload":${ODD},`);
    expect(await api.getJob(ids.hanging)).toMatchObject({ status: 'pending', attempts: 0 });
    expect((await api.call('POST', '/v1/queues/plain/jobs', { payload: {} })).status, 'suspended').toBe(403);
    expect((await api.call('POST', `/v1/jobs/${ids.awaiting}/ack`)).status).toBe(200);
    await api.waitForStatus(ids.awaiting, 'completed');

    await writeFile(join(folder, 'restored'), '');
    await done(['account', 'resume', accountId], embedded.env);
    await api.waitForStatus(ids.hanging, 'completed');
    const { history } = await api.getJob(ids.hanging);
    expect(history, 'its interrupted attempt is given back').toMatchObject([{ attempt: 1, status: 'success' }]);
    await waitFor(async () => (await api.call('POST', '/v1/queues/plain/jobs', { payload: {} })).status === 201);
    const same = await api.publish('plain', { payload: {}, idempotencyKey: 'later' });
    expect(same.id, 'idempotency keys are known').toBe(ids.delayed);
  });

  it('a moved account moves on to a server, by a backup of this account', async () => {
    const file = newFile();
    const api = createApi(embedded.jobferry.baseUrl, KEY);
    await waitFor(async () => (await api.listJobs((await queueId()) ?? '', '?status=completed')).total > 0);
    await embedded.jobferry.kill();
    await done(['backup', file, '--account', accountId], embedded.env);
    const { url } = await createTestDatabase();
    await aheadOfBackup(openServices(url).db);
    const restored = await done<Row>(['restore', file, '--resume'], { DATABASE_URL: url });
    expect(restored.accounts).toMatchObject([{ id: accountId, interrupted: 0 }]);
    const jobferry = await startJobferry({ databaseUrl: url, role: 'api' });
    const there = createApi(jobferry.baseUrl, KEY);
    expect((await there.call('GET', `/v1/jobs/${ids.done}`)).text).toContain(`"payload":${ODD},`);
    expect((await there.getJob(ids.hanging)).history).toHaveLength(1);
    expect((await there.call('POST', '/v1/queues/plain/jobs', { payload: {} })).status).toBe(201);
  });

  const queueId = async () => String((await rowsOf(embedded.url, `select id from queue where name = 'plain'`))[0]?.id);
});

describe('a backup or a restore that is killed', () => {
  let sourceUrl: string;
  let targetUrl: string;

  beforeAll(async () => {
    [sourceUrl, targetUrl] = (await Promise.all([createTestDatabase(), createTestDatabase()]).then((made) =>
      made.map(({ url }) => url),
    )) as [string, string];
    const source = openServices(sourceUrl).db;
    await source.query(`insert into account (name, plan) values ('big', 'pro')`);
    await source.query(
      `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled, mode,
                          rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay)
       select id, 'q', 'http://127.0.0.1:9/', 's', 3, 50, 5, true, 'standard', 60, 300, 'retry', 'fixed', 2 from account`,
    );
    const queue = await source.one<{ id: string }>('select id from queue');
    await source.query(`select ${publishInSql(queue?.id ?? '', 2000)}`);
    await aheadOfBackup(openServices(targetUrl).db);
  });

  /** Runs a command until it waits for a lock of a table that the test holds, kills it, and lets the table go. */
  async function killedAt(url: string, table: string, args: string[]): Promise<CommandResult> {
    const holder = await connect(url);
    await holder.query(`begin; lock table ${table} in access exclusive mode`);
    const running = beginJobferry(args, { DATABASE_URL: url });
    const name = `jobferry ${args[0]}`;
    const sessions = async (condition: string) =>
      (
        await rowsOf(
          url,
          `select pid from pg_stat_activity where datname = current_database() and application_name = '${name}' and ${condition}`,
        )
      ).length;
    await waitFor(async () => (await sessions(`wait_event_type = 'Lock'`)) === 1);
    running.kill('SIGKILL');
    const result = await running.ended;
    await holder.query('rollback');
    await waitFor(async () => (await sessions('true')) === 0);
    return result;
  }

  it('leaves no file that looks whole, and no row', async () => {
    const file = newFile();
    await killedAt(sourceUrl, 'dead_letter', ['backup', file]);
    expect(existsSync(file)).toBe(false);
    expect(existsSync(`${file}.part`), 'it was in the middle').toBe(true);
    const refused = await runJobferry(['backup', file], { DATABASE_URL: sourceUrl });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('one was interrupted') });

    const whole = newFile();
    await done(['backup', whole], { DATABASE_URL: sourceUrl });
    await killedAt(targetUrl, 'job_search', ['restore', whole]);
    for (const table of ['account', 'queue', 'job'])
      expect(await rowsOf(targetUrl, `select id from ${table}`)).toEqual([]);
    const restored = await done<{ rows: Row }>(['restore', whole], { DATABASE_URL: targetUrl });
    expect(restored.rows).toMatchObject({ account: 1, job: 2000 });
  });

  it('needs little memory for large payloads', async () => {
    const source = await connect(sourceUrl);
    await source.query(
      `update job set payload = '"' || repeat(md5(id), 32000) || '"' where id in (select id from job order by id limit 80)`,
    );
    const file = newFile();
    const env = { DATABASE_URL: sourceUrl, NODE_OPTIONS: '--max-old-space-size=64' };
    await done(['backup', file], env);
    const { url } = await createTestDatabase();
    await aheadOfBackup(openServices(url).db);
    await done(['restore', file], { ...env, DATABASE_URL: url });
    const sizes = await rowsOf(url, 'select sum(octet_length(payload)) as bytes from job');
    expect(sizes).toEqual(await rowsOf(sourceUrl, 'select sum(octet_length(payload)) as bytes from job'));
    expect(Number(sizes[0]?.bytes)).toBeGreaterThan(80_000_000);
  });
});

describe('a file that unpacks to much', () => {
  /** Prints the largest memory of the process, in KiB. */
  const MEASURED = `--import=data:text/javascript,process.on('exit',()=>console.error(process.resourceUsage().maxRSS))`;

  it('is refused without being held in memory', async () => {
    const { url } = await createTestDatabase();
    const check = async (content: Buffer[]) => {
      const file = newFile();
      await writeFile(file, Buffer.concat(content));
      const result = await runJobferry(['restore', file, '--check'], { DATABASE_URL: url, NODE_OPTIONS: MEASURED });
      expect(result.code).toBe(1);
      return { said: result.stderr, kib: Number(result.stderr.trim().split('\n').at(-1)) };
    };
    const small = await check([gzipSync('\n')]);
    expect(small.kib).toBeGreaterThan(10_000);
    // A gigabyte in a megabyte: gzip unpacks the parts of a file one after the other.
    const zeros = gzipSync(Buffer.alloc(16 * 1024 * 1024), { level: 9 });
    const header = gzipSync(`${JSON.stringify({ format: 'jobferry-backup', version: 1 })}\n["job",{"payload":"`);
    for (const begin of [[], [header]]) {
      const { said, kib } = await check([...begin, ...Array.from({ length: 64 }, () => zeros)]);
      expect(said).toContain('has a line of more than 16 MiB');
      expect(kib - small.kib, 'KiB more than for an empty file').toBeLessThan(128 * 1024);
    }
  });
});

describe('for people', () => {
  it('backup and restore print what they did, and what to do next', async () => {
    const { url } = await createTestDatabase();
    const client = await connect(url);
    await client.query(`insert into account (name, plan) values ('shop', 'gold')`);
    const file = newFile();
    const made = await runJobferry(['backup', file], { DATABASE_URL: url });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^account +1$/m) });
    const target = (await createTestDatabase()).url;
    await aheadOfBackup(openServices(target).db);
    const { stdout } = await runJobferry(['restore', file], { DATABASE_URL: target });
    expect(stdout).toMatch(/shop +0 +0 +no/);
    expect(stdout).toMatch(/Begin with: account resume ID/);
    expect(stdout).toMatch(/PLANS does not name the plan gold/);
    const nothing = await runJobferry(['backup', newFile(), '--account', 'f'.repeat(24)], { DATABASE_URL: url });
    expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('does not exist') });
  });

  it('a check leaves an empty database empty', async () => {
    const [source, { url }] = [await createTestDatabase(), await createTestDatabase({ empty: true })];
    const file = newFile();
    await done(['backup', file], { DATABASE_URL: source.url });
    const checked = await runJobferry(['restore', file, '--check'], { DATABASE_URL: url });
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringMatching(/can be restored here\..*has no tables/) });
    expect(await rowsOf(url, `select 1 from pg_class where relname in ('account', '_prisma_migrations')`)).toEqual([]);
  });

  it('a backup does not migrate the database', async () => {
    const { url } = await createTestDatabase({ empty: true });
    const refused = await runJobferry(['backup', newFile()], { DATABASE_URL: url });
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('schema of an earlier release, or none'),
    });
    expect(await rowsOf(url, `select 1 from pg_class where relname = 'account'`)).toEqual([]);
  });
});

it('a final backup leaves a database from which no process serves', async () => {
  const { url } = await createTestDatabase();
  const env = { DATABASE_URL: url, BOOTSTRAP_API_KEY: KEY };
  const running = await startJobferry({ databaseUrl: url, env });
  const file = newFile();
  expect(await runJobferry(['backup', file, '--final'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/processes of release \S+ \(1 API and worker\) run: stop them first/),
  });
  await running.stop();
  // One that fails leaves the database as it was.
  await writeFile(`${file}.part`, '');
  expect((await runJobferry(['backup', file, '--final'], env)).code).not.toBe(0);
  const again = await startJobferry({ databaseUrl: url, env });
  await again.stop();

  const moved = newFile();
  await done(['backup', moved, '--final'], env);
  for (const file of [moved, newFile()]) {
    expect(await runJobferry(['backup', file, '--final'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was moved to another place'),
    });
  }
  expect(await runJobferry(['serve'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^jobferry: this database was moved to another place at .*update schema_release/m),
  });
  const doctor = await runJobferry(['doctor', '--json'], env);
  const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; status: string; what: string }[] };
  expect(findings.filter(({ status }) => status === 'problem')).toEqual([
    expect.objectContaining({ check: 'schema', what: expect.stringContaining('moved to another place') }),
  ]);
  const { url: other } = await createTestDatabase({ empty: true });
  await done(['restore', moved, '--resume'], { DATABASE_URL: other });
  const service = await startJobferry({ databaseUrl: other, env: { BOOTSTRAP_API_KEY: KEY } });
  await service.stop();
});
