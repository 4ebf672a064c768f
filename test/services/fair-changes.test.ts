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

it('publishes while all edits of another account wait for one row', async () => {
  const [editor, other] = [await createAccount(), await createAccount()];
  const { id } = await op.queues.create(editor, { name: 'edited', webhookUrl: 'http://127.0.0.1:9/' });
  await op.queues.create(other, { name: 'quiet', webhookUrl: 'http://127.0.0.1:9/' });
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query('select from queue where id = $1 for update', [id]);

  const edits = Array.from({ length: EDITS }, () => op.queues.pause(editor, id));
  let isHeld = true;
  void Promise.race(edits).finally(() => {
    isHeld = false;
  });
  const { created } = await op.jobs.publish(other, 'quiet', { payload: '{}' });
  expect({ created, isHeld }).toEqual({ created: true, isHeld: true });

  await holder.query('commit');
  for (const edited of await Promise.all(edits)) expect(edited.id).toBe(id);
});
