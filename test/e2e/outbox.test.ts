import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Api } from '../support/api.ts';
import { builtClient } from '../support/built.ts';
import { MODULES, ROOT } from '../support/checkout.ts';
import { listen } from '../support/listen.ts';
import { openReceiver, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** docs/outbox.md as a reader runs it: the table, the transaction and the relay. */

const document = await readFile(join(ROOT, 'docs/outbox.md'), 'utf8');
const blocksOf = (language: string) =>
  [...document.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text);

const folder = await mkdtemp(join(tmpdir(), 'jobferry-outbox-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

let service: { api: Api; url: string; apiKey: string; databaseUrl: string };

beforeAll(async () => {
  builtClient();
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@jobferry'), { recursive: true });
  await symlink(join(ROOT, 'packages/client'), join(modules, '@jobferry/client'), 'junction');
  await symlink(join(MODULES, 'pg'), join(modules, 'pg'), 'junction');
  await writeFile(join(folder, 'relay.mjs'), blocksOf('js')[0] ?? '');
  const { api, apiKey, jobferry, databaseUrl } = await startService();
  service = { api, apiKey, url: jobferry.baseUrl, databaseUrl };
});

/** An application: its outbox is in a schema of its own, which is also the name of its connections. */
async function openApplication(name: string) {
  const database = new pg.Client({ connectionString: service.databaseUrl });
  await database.connect();
  onTestFinished(() => database.end());
  await database.query(`create schema ${name}; set search_path to ${name}; ${blocksOf('sql')[0]}`);
  const insert = (queue: string, payload: string) =>
    database.query('insert into outbox (queue, payload) values ($1, $2)', [queue, payload]);
  const left = async () =>
    (await database.query<{ queue: string; error: string | null }>('select queue, error from outbox order by id')).rows;
  const untilLeft = (count: number) =>
    waitFor(
      async () => {
        const rows = await left();
        return rows.length === count && rows.every(({ error }) => error !== null) ? rows : null;
      },
      { message: `${count} refused rows in ${name}` },
    );
  return { database, insert, untilLeft };
}

function startRelay(name: string, jobferryUrl = service.url): ChildProcess {
  const address = new URL(service.databaseUrl);
  address.searchParams.set('options', `-c search_path=${name} -c application_name=${name}`);
  const env = { DATABASE_URL: address.href, JOBFERRY_URL: jobferryUrl, JOBFERRY_API_KEY: service.apiKey };
  const relay = spawn(process.execPath, ['relay.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  onTestFinished(() => void relay.kill('SIGKILL'));
  return relay;
}

async function openQueue(name: string) {
  const receiver = await openReceiver();
  await service.api.createQueue({ name, webhookUrl: receiver.url, concurrency: 10 });
  const delivered = (count: number) =>
    waitFor(() => (receiver.requests.length === count ? receiver.requests.map(({ raw }) => String(raw)) : null), {
      message: `${count} deliveries of ${name}`,
    });
  return { delivered };
}

describe('an outbox', () => {
  it('publishes each row once, byte for byte, and keeps what is refused', async () => {
    const { delivered } = await openQueue('invoices');
    const { database, insert, untilLeft } = await openApplication('shop');
    await database.query('create table orders (id int, customer text)');
    await database.query(blocksOf('sql')[1] ?? '');
    await insert('nowhere', '{}');
    await insert('invoices', '[]');
    await insert('invoices', JSON.stringify({ order: 4, text: 'x'.repeat(1_100_000) }));
    await insert('', JSON.stringify({ text: 'x'.repeat(1_100_000) }));
    await insert('invoices', `{"deep":${'['.repeat(4000)}${']'.repeat(4000)}}`);
    await database.query(`insert into outbox (queue, payload, delay) values ('invoices', '{}', 'Infinity')`);
    await insert('invoices', '{"n":9007199254740993}');
    startRelay('shop');

    expect(await untilLeft(6)).toMatchObject([
      { queue: 'nowhere', error: expect.stringContaining('queue not found') },
      { queue: 'invoices', error: expect.stringContaining('payload') },
      { queue: 'invoices', error: expect.stringContaining('larger than') },
      { queue: '', error: expect.stringContaining('queue not found') },
      { queue: 'invoices', error: expect.stringContaining('levels') },
      { queue: 'invoices', error: expect.stringContaining('delay') },
    ]);
    const bodies = (await delivered(2)).join();
    expect(bodies).toContain('{"order": 77}');
    expect(bodies).toContain('{"n":9007199254740993}');

    // A key that an earlier row had, and another payload: as after a repair by hand.
    const key = '00000000-0000-4000-8000-000000000007';
    const withKey = (payload: string) =>
      database.query('insert into outbox (key, queue, payload) values ($1, $2, $3)', [key, 'invoices', payload]);
    await withKey('{"order":90}');
    await delivered(3);
    await withKey('{"order":91}');
    expect((await untilLeft(7))[6]).toMatchObject({ error: expect.stringContaining('another payload') });
  });

  it('two outboxes that publish to one queue lose no row', async () => {
    const { delivered } = await openQueue('mails');
    for (const name of ['billing', 'support']) {
      const { insert, untilLeft } = await openApplication(name);
      for (const n of [3, 4, 5]) await insert('mails', `{"from":"${name}-${n}"}`);
      startRelay(name);
      await untilLeft(0);
    }
    const bodies = (await delivered(6)).join();
    for (const n of [3, 4, 5]) for (const name of ['billing', 'support']) expect(bodies).toContain(`"${name}-${n}"`);
  });

  it('publishes rows that are too large for one request together', async () => {
    const { delivered } = await openQueue('reports');
    const { database, untilLeft } = await openApplication('archive');
    await database.query(`insert into outbox (queue, payload)
      select 'reports', json_build_object('n', n, 'text', repeat('"ä', 12000)) from generate_series(1, 70) n`);
    const requests: string[] = [];
    const url = await forwarding((path) => void requests.push(path));
    startRelay('archive', url);
    await untilLeft(0);
    expect(new Set(await delivered(70)).size).toBe(70);
    expect(requests.length).toBeLessThan(10);
  });

  it('goes on when its connections to the database are ended, idle or in use', async () => {
    const { delivered } = await openQueue('parcels');
    const { database, insert, untilLeft } = await openApplication('depot');
    const endConnections = async () => {
      const end = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'depot'`;
      return (await database.query(end)).rowCount ?? 0;
    };
    // The first request comes while the relay holds the rows locked.
    let endedInUse = 0;
    const url = await forwarding(async () => {
      if (endedInUse === 0) endedInUse = await endConnections();
    });
    await insert('parcels', '{"parcel":12}');
    const relay = startRelay('depot', url);
    await untilLeft(0);
    expect(endedInUse).toBeGreaterThan(0);
    await waitFor(endConnections, { message: 'an idle connection' });
    await insert('parcels', '{"parcel":13}');
    await untilLeft(0);
    await delivered(2);
    expect(relay.exitCode).toBeNull();
  });

  it('says why it waits, also where the error has no message of its own', async () => {
    // A name with two addresses, at both of which nothing listens.
    const both = `process.getBuiltinModule('node:dns').lookup = (_name, _options, done) => done(null,
      [{ address: '127.0.0.1', family: 4 }, { address: '127.0.0.2', family: 4 }]);`;
    await writeFile(join(folder, 'two-addresses.mjs'), both);
    const relay = spawn(process.execPath, ['--import', './two-addresses.mjs', 'relay.mjs'], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: 'postgres://app@db.internal:9/shop',
        JOBFERRY_URL: service.url,
        JOBFERRY_API_KEY: 'any',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void relay.kill('SIGKILL'));
    let errors = '';
    relay.stderr.on('data', (bytes) => {
      errors += bytes;
    });
    await waitFor(() => errors.includes('\n'), { message: 'a line' });
    expect(errors).toContain('outbox: connect ECONNREFUSED 127.0.0.1:9; connect ECONNREFUSED 127.0.0.2:9\n');
  });
});

/** A server in front of the service, which says which requests come. */
function forwarding(onRequest: (path: string) => unknown): Promise<string> {
  return listen(async (req, res) => {
    const body = await buffer(req);
    await onRequest(req.url ?? '');
    const headers = { authorization: req.headers.authorization ?? '', 'content-type': 'application/json' };
    const answer = await fetch(`${service.url}${req.url}`, { method: req.method ?? '', headers, body });
    res.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
}
