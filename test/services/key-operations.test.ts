import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { ID, UNKNOWN_ID } from '../support/shapes.ts';

let op: TestServices;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
});

async function createAccount(): Promise<Account> {
  const row = await op.db.one<{ id: string }>(`insert into account (name, plan) values ('test', 'pro') returning id`);
  return { id: row?.id ?? '', name: 'test', plan: 'pro', actor: { type: 'api_key', id: UNKNOWN_ID, label: 'jf_a…b' } };
}

const NOT_FOUND = { name: 'JobferryError', kind: 'not_found', message: 'API key not found' };

describe.concurrent('API keys', () => {
  it('open their account until they are revoked', async () => {
    const account = await createAccount();
    const created = await op.accounts.createApiKey(account, 'deploy \u{1f511}');
    expect(created).toEqual({ id: ID, key: expect.stringMatching(/^jf_[0-9A-Za-z]{46}$/) });
    const label = `deploy \u{1f511} (${created.key.slice(0, 6)}…${created.key.slice(-4)})`;
    const opened = { id: account.id, actor: { type: 'api_key', id: created.id, label } };
    expect(await op.accounts.authenticate(created.key)).toMatchObject(opened);
    expect(await op.accounts.revokeApiKey(account, created.id)).toBe(created.id);
    await expect(op.accounts.revokeApiKey(account, created.id)).rejects.toMatchObject(NOT_FOUND);
  });

  it('may revoke themselves, and no other account’s', async () => {
    const [account, stranger] = [await createAccount(), await createAccount()];
    const { id, key } = await op.accounts.createApiKey(account, null);
    for (const unknown of [UNKNOWN_ID, '', 'a\0b', "'"]) {
      await expect(op.accounts.revokeApiKey(account, unknown)).rejects.toMatchObject(NOT_FOUND);
    }
    await expect(op.accounts.revokeApiKey(stranger, id)).rejects.toMatchObject(NOT_FOUND);
    const itself = await op.accounts.authenticate(key);
    if (itself === null) throw new Error('refused');
    expect(await op.accounts.revokeApiKey(itself, id)).toBe(id);
    expect(await op.auditOf(id)).toMatchObject([
      { action: 'api_key.create' },
      { actor_id: id, action: 'api_key.revoke' },
    ]);
  });

  it.each([[''], ['x'.repeat(65)], ['a\0b'], ['a\udc00']])('have no name like %j', async (name) => {
    const account = await createAccount();
    const refused = { kind: 'invalid_fields', fields: { name: [expect.any(String)] } };
    await expect(op.accounts.createApiKey(account, name)).rejects.toMatchObject(refused);
  });

  it('are at most 100 of an account that are not revoked, however many requests run at once', async () => {
    const account = await createAccount();
    for (let n = 0; n < 95; n += 1) await op.accounts.createApiKey(account, 'x'.repeat(64));
    const last = await op.accounts.createApiKey(account, null);
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => op.accounts.createApiKey(account, null)));
    const refused = asked.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(4);
    for (const { reason } of refused) expect(reason).toMatchObject({ kind: 'forbidden' });
    await op.accounts.revokeApiKey(account, last.id);
    await op.accounts.createApiKey(account, null);
    await expect(op.accounts.createApiKey(account, null)).rejects.toMatchObject({ kind: 'forbidden' });
    await op.accounts.createApiKey(await createAccount(), null);
  });
});
