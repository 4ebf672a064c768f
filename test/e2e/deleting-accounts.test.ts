import { expect, it } from 'vitest';
import { beginJobferry, runAdmin, runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** `account delete` as processes. */

it('two runs of `account delete`: the second is refused, and one after a kill finishes the work', async () => {
  const { url } = await createTestDatabase();
  const env = { DATABASE_URL: url };
  await runAdmin(url, 'account', 'create', '--name', 'operator', '--plan', 'pro');
  const { id } = await runAdmin<{ id: string }>(url, 'account', 'create', '--name', 'tenant', '--plan', 'pro');
  const { db, ...op } = openServices(url);
  const account = {
    id,
    name: 'tenant',
    plan: 'pro',
    actor: { type: 'operator', id: null, label: 'operator' },
  } as const;
  await op.queues.create(account, { name: 'all', webhookUrl: 'http://127.0.0.1:9/' });

  const command = ['account', 'delete', id, '--confirm', 'tenant'];
  const first = beginJobferry(command, env);
  // Queues stay for 10 s after they were marked.
  const isMarked = async () => (await db.query('select from queue where deleted_at is not null')).length > 0;
  await waitFor(isMarked, { message: 'a marked queue' });
  const refused = await runJobferry(command, env);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(`account ${id} is being deleted by another \`account delete\``);

  first.kill('SIGKILL');
  await first.ended;
  await db.query(`update queue set deleted_at = deleted_at - interval '1 minute'`);
  const again = await runJobferry([...command, '--json'], env);
  expect(again, again.stderr).toMatchObject({ code: 0 });
  const receipt: unknown = JSON.parse(again.stdout);
  expect(receipt).toMatchObject({ accountId: id, finishedAt: expect.any(String), removed: { queues: 1 } });
  expect(await runAdmin(url, ...command), 'the receipt again').toEqual(receipt);
  expect(await db.query('select from account where id = $1', [id])).toEqual([]);
});
