import pg from 'pg';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices, type TestServices } from '../support/services.ts';

/** More than the connections that a process has. */
const EDITS = 60;

let url: string;
let op: TestServices;

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  op = openServices(url);
});

async function createAccount(): Promise<Account> {
  const [row] = await op.db.query<{ id: string }>(
    `insert into account (name, plan) values ('test', 'pro') returning id`,
  );
  return { ...(await op.firstAccount()), id: row?.id ?? '' };
}

/**
 * Locks a row, starts changes that wait for it, and publishes a job of another account meanwhile.
 * @returns the results of the changes, after the row was unlocked
 */
async function publishWhile<T>(locking: string, id: string, changes: () => Promise<T>[]): Promise<T[]> {
  const other = await createAccount();
  await op.queues.create(other, { name: 'quiet', webhookUrl: 'http://127.0.0.1:9/' });
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query(locking, [id]);

  const running = changes();
  let isHeld = true;
  void Promise.race(running).finally(() => {
    isHeld = false;
  });
  const { created } = await op.jobs.publish(other, 'quiet', { payload: '{}' });
  expect({ created, isHeld }).toEqual({ created: true, isHeld: true });

  await holder.query('commit');
  return Promise.all(running);
}

it('publishes while all edits of another account wait for one row', async () => {
  const editor = await createAccount();
  const { id } = await op.queues.create(editor, { name: 'edited', webhookUrl: 'http://127.0.0.1:9/' });
  const edits = () => Array.from({ length: EDITS }, () => op.queues.pause(editor, id));
  for (const edited of await publishWhile('select from queue where id = $1 for update', id, edits)) {
    expect(edited.id).toBe(id);
  }
});

it('publishes while all sign-ins of another account wait for its row', async () => {
  const account = await createAccount();
  const keys: Account[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { id } = await op.accounts.createApiKey(account, null);
    keys.push({ ...account, actor: { ...account.actor, id } });
  }
  const signIns = () => keys.flatMap((key) => Array.from({ length: 20 }, () => op.sessions.startOfKey(key, null)));
  const sessions = await publishWhile('select from account where id = $1 for update', account.id, signIns);
  expect(new Set(sessions.map((session) => session?.token)).size).toBe(60);
});
