import { expect, it } from 'vitest';
import { bootstrapAccount } from '../../src/db/accounts.ts';
import { serviceLags } from '../../src/db/insight/lags.ts';
import { beginDeletion, findReceipt } from '../../src/db/operator/deletion.ts';
import { operatorsAccountId } from '../../src/db/operator-account.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import { describeApiKey, generateApiKey } from '../../src/services/accounts/api-key.ts';
import { createTestDatabase } from '../support/database.ts';
import { openCommands } from '../support/operator.ts';
import { openServices } from '../support/services.ts';

/** The operator's account is marked: neither a clock nor a deletion hands its role to another one. */

async function open() {
  const { url } = await createTestDatabase();
  const { db } = openServices(url);
  const warnings: string[] = [];
  db.log.warn = (_fields: object, message: string) => void warnings.push(message);
  const newKey = () => {
    const key = generateApiKey();
    return { key, stored: describeApiKey(key) };
  };
  const serve = () => bootstrapAccount(db, { plan: 'pro', knownKey: null, newKey });
  return { db, serve, warnings, commands: openCommands(url) };
}

it('stays the first one when an account gets a lower id, because the clock was set back', async () => {
  const { db, serve, warnings, commands } = await open();
  expect(await serve(), 'the key of the first account').toMatch(/^jf_/);
  const operator = await operatorsAccountId(db);
  await db.query(
    `insert into account (id, name, plan) values (jobferry_id(now() - interval '5 years'), 'tenant', 'pro')`,
  );
  expect(await serve(), 'a later start').toBeNull();
  expect(await operatorsAccountId(db)).toBe(operator);
  const tenant = await db.one<{ id: string }>(`select id from account where name = 'tenant'`);
  expect(await serviceLags(db, tenant?.id ?? '', 1000)).toBeNull();
  expect(await serviceLags(db, operator ?? '', 1000)).not.toBeNull();
  await expect(commands.run('account', 'delete', operator ?? '', '--confirm', 'default')).rejects.toThrow(
    'cannot be deleted',
  );
  expect(warnings).toEqual([]);
});

it('is the first one that a command creates, before any start', async () => {
  const { db, serve, warnings, commands } = await open();
  const { id } = await commands.json<{ id: string }>('account', 'create', '--name', 'mine', '--plan', 'pro');
  await commands.run('account', 'create', '--name', 'tenant', '--plan', 'pro');
  expect(await db.query('select id from account where is_operator')).toEqual([{ id }]);
  expect(await serve()).toBeNull();
  expect(warnings).toEqual([]);
});

it('is one of those that several commands create at the same moment', async () => {
  const { db, commands } = await open();
  const names = ['a', 'b', 'c', 'd'];
  await Promise.all(names.map((name) => commands.run('account', 'create', '--name', name, '--plan', 'pro')));
  expect(await db.query('select id from account where is_operator')).toHaveLength(1);
});

it('is another one only with a warning, after the row was removed by hand', async () => {
  const { db, serve, warnings } = await open();
  await serve();
  await db.query(`insert into account (name, plan) values ('tenant', 'pro')`);
  await db.query('delete from api_key');
  await db.query('delete from account where is_operator');
  await serve();
  expect(warnings).toEqual([expect.stringContaining("no account was marked as the operator's")]);
});

it('is another one by a command, which names both accounts in their audit logs', async () => {
  const { db, serve, warnings, commands } = await open();
  await serve();
  const first = await operatorsAccountId(db);
  const { id } = await commands.json<{ id: string }>('account', 'create', '--name', 'second', '--plan', 'pro');
  const give = (to: string, name: string) => commands.run('account', 'set-operator', to, '--confirm', name);

  await expect(give(id, 'secnd')).rejects.toThrow('--confirm must be the name of the account, which is "second"');
  await commands.run('account', 'suspend', id);
  await expect(give(id, 'second')).rejects.toThrow('is suspended');
  await commands.run('account', 'resume', id);
  expect(await operatorsAccountId(db)).toBe(first);

  expect((await give(id, 'second')).json).toEqual({ id, before: first });
  expect((await give(id, 'second')).text).toBe(`Account ${id} is already the operator's.`);
  expect(await db.query('select id from account where is_operator')).toEqual([{ id }]);
  expect(await commands.text('account', 'show', id)).toMatch(/^operator's account +yes$/m);
  const actions = await db.query(
    `select account_id, before, after from audit_entry where action = 'account.set_operator' order by account_id`,
  );
  expect(actions).toEqual([
    { account_id: first, before: { isOperator: true }, after: { isOperator: false } },
    { account_id: id, before: { isOperator: false }, after: { isOperator: true } },
  ]);
  await expect(commands.run('account', 'delete', id, '--confirm', 'second')).rejects.toThrow('cannot be deleted');
  expect(await serve(), 'a later start').toBeNull();
  expect(await operatorsAccountId(db)).toBe(id);
  expect(warnings).toEqual([]);
});

it('cannot be deleted by a command that began before it got the role', async () => {
  const { db, serve, commands } = await open();
  await serve();
  const { id } = await commands.json<{ id: string }>('account', 'create', '--name', 'second', '--plan', 'pro');
  await commands.run('account', 'set-operator', id, '--confirm', 'second');
  await beginDeletion(db, OPERATOR, id);
  expect(await findReceipt(db, id)).toBeNull();
  expect(await commands.json('account', 'show', id)).toMatchObject({ suspendedAt: null });
});
