import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { builtClient } from '../support/built.ts';
import { MODULES, ROOT } from '../support/checkout.ts';
import { openReceiver, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** docs/outbox.md as a reader runs it: the table, the transaction and the relay. */

const document = await readFile(join(ROOT, 'docs/outbox.md'), 'utf8');
const blocksOf = (language: string) =>
  [...document.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text);

const folder = await mkdtemp(join(tmpdir(), 'jobferry-outbox-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function startRelay(env: Record<string, string>): Promise<void> {
  builtClient();
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@jobferry'), { recursive: true });
  await symlink(join(ROOT, 'packages/client'), join(modules, '@jobferry/client'), 'junction');
  await symlink(join(MODULES, 'pg'), join(modules, 'pg'), 'junction');
  await writeFile(join(folder, 'relay.mjs'), blocksOf('js')[0] ?? '');
  const relay = spawn(process.execPath, ['relay.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: 'inherit',
  });
  onTestFinished(() => void relay.kill('SIGKILL'));
}

it('an outbox publishes each row once, byte for byte, and keeps what is refused', async () => {
  const { api, apiKey, jobferry, databaseUrl } = await startService();
  const receiver = await openReceiver();
  await api.createQueue({ name: 'invoices', webhookUrl: receiver.url });
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  onTestFinished(() => database.end());
  const [table = '', transaction = ''] = blocksOf('sql');
  await database.query('create schema shop; set search_path to shop');
  await database.query(`${table} create table orders (id int, customer text);`);
  await database.query(transaction);
  await database.query(
    `insert into outbox (queue, payload) values ('nowhere', '{}'), ('invoices', '[]'), ('invoices', '{"n":9007199254740993}')`,
  );
  const address = new URL(databaseUrl);
  address.searchParams.set('options', '-c search_path=shop');
  await startRelay({ DATABASE_URL: address.href, JOBFERRY_URL: jobferry.baseUrl, JOBFERRY_API_KEY: apiKey });

  const left = await waitFor(
    async () => {
      const { rows } = await database.query<{ queue: string; error: string | null }>(
        'select queue, error from outbox order by id',
      );
      return rows.length === 2 && rows.every(({ error }) => error !== null) ? rows : null;
    },
    { message: 'two rows that are refused' },
  );
  expect(left).toMatchObject([
    { queue: 'nowhere', error: expect.stringContaining('queue not found') },
    { queue: 'invoices', error: expect.stringContaining('payload') },
  ]);
  const bodies = await waitFor(
    () => (receiver.requests.length === 2 ? receiver.requests.map(({ raw }) => String(raw)) : null),
    { message: 'two deliveries' },
  );
  expect(bodies.join()).toContain('{"order": 77}');
  expect(bodies.join()).toContain('{"n":9007199254740993}');
});
