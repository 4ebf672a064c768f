import { beforeAll, describe, expect, it } from 'vitest';
import { databaseTime } from '../../src/db/connection/clock.ts';
import { sweepByTime } from '../../src/db/retention/sweep.ts';
import type { Account } from '../../src/domain/account.ts';
import { SESSION_LIMITS, TooManySignIns } from '../../src/domain/session.ts';
import { createOidcSignIn } from '../../src/services/sign-in/oidc.ts';
import { createLink, createSessions } from '../../src/services/sign-in/sessions.ts';
import { createAccount } from '../support/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

let url: string;
let op: TestServices;

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  op = openServices(url);
});

async function accountWithKey(): Promise<{ account: Account; key: string }> {
  const { key } = await createAccount(url);
  const account = await op.accounts.authenticate(key);
  if (account === null) throw new Error('refused');
  return { account, key };
}

/** Sessions of another process: nothing is cached there. */
const elsewhere = (settings: Partial<TestServices['context']['signIn']> = {}) =>
  createSessions({ ...op.context, signIn: { ...op.context.signIn, ...settings } });

/** Starts a session of the account's key. */
async function start(
  account: Account,
  userAgent: string | null = null,
  sessions: Pick<TestServices['sessions'], 'startOfKey'> = op.sessions,
) {
  const session = await sessions.startOfKey(account, userAgent);
  if (session === null) throw new Error('refused');
  return session;
}

/** As if a minute had passed since the sign-ins of the account. */
const makeSignInsOld = ({ id }: Account) =>
  op.db.query(`update audit_entry set id = jobferry_id(at - interval '61 s') where account_id = $1`, [id]);

/** Signs a new person in, without asking the provider. */
async function signInMember(issuer: string) {
  const provider = {
    begin: () => Promise.reject(new Error('not in this test')),
    finish: async () => ({ sub: 'ada', groups: ['ops'] }),
  };
  const roles = new Map([['groups', new Map([['ops', { role: 'operator', mayViewPayloads: false } as const]])]]);
  const signIn = { ...op.context.signIn, issuer };
  const people = createOidcSignIn({ ...op.context, signIn }, provider, roles);
  const { token } = await people.finish(new URL(issuer), { state: '', nonce: '', verifier: '' }, null);
  const [member] = await op.db.query<{ id: string }>('select id from member where issuer = $1', [issuer]);
  return { token, memberId: member?.id ?? '' };
}

const tokenOf = async (address: Promise<string>) => new URL(await address).hash.slice(1);
const ADDRESS = new URL('https://example.com/jobferry/');

describe('a session', () => {
  it('has the account and the access of the key that it was exchanged for', async () => {
    const { account } = await accountWithKey();
    const { token, expiresAt } = await start(account, 'Firefox');
    expect(token).toMatch(/^jfs_[\w-]{43}$/);
    expect(await op.sessions.find(token)).toEqual({
      account,
      access: { role: 'admin', mayViewPayloads: true },
      person: null,
      session: { id: expect.stringMatching(/^[0-9a-f]{24}$/), expiresAt },
    });
  });

  it('is in the database as a hash only, and in the audit log', async () => {
    const { account } = await accountWithKey();
    const { token } = await start(account, 'Firefox'.repeat(100));
    const rows = await op.db.query<{ row: { id: string; user_agent: string } }>(
      'select row_to_json(session) as row from session where account_id = $1',
      [account.id],
    );
    expect(JSON.stringify(rows)).not.toContain(token.slice(4, 20));
    expect(rows[0]?.row.user_agent).toHaveLength(256);
    expect(await op.auditOf(rows[0]?.row.id ?? '')).toMatchObject([
      { actor_type: 'api_key', actor_id: account.actor.id, action: 'session.create', target_name: account.actor.label },
    ]);
  });

  it.each([
    '',
    'jfs_',
    `jfs_${'a'.repeat(42)}`,
    `jfs_${'a'.repeat(44)}`,
    `jfl_${'a'.repeat(43)}`,
    `jfs_${'/'.repeat(43)}`,
  ])('is not looked up for the text %j', async (token) => {
    const none = createSessions({ ...op.context, db: undefined as unknown as typeof op.db });
    expect(await none.find(token)).toBeNull();
  });

  it('ends with its key, at its time, or by its holder', async () => {
    const { account } = await accountWithKey();
    const [one, two, three] = [
      await start(account),
      await start(account, null, elsewhere({ sessionMaxMs: 1 })),
      await start(account),
    ];
    expect(await elsewhere().find(one.token)).not.toBeNull();
    expect(await elsewhere().find(two.token)).toBeNull();
    await op.sessions.endOwn(one.token);
    expect(await op.sessions.find(one.token)).toBeNull();
    await op.sessions.endOwn(one.token);
    await op.accounts.revokeApiKey(account, account.actor.id ?? '');
    expect(await elsewhere().find(three.token)).toBeNull();
    // The sweep removes what no client has ended.
    expect(await sweepByTime(op.db, 'sessions', await databaseTime(op.db), op.context.periods)).toBe(2);
    expect(await op.db.query('select from session where account_id = $1', [account.id])).toEqual([]);
  });

  it('is not started by a key that was revoked after it was looked up', async () => {
    const { account } = await accountWithKey();
    await op.accounts.revokeApiKey(account, account.actor.id ?? '');
    expect(await op.sessions.startOfKey(account, null)).toBeNull();
    expect(await op.db.query('select from session where account_id = $1', [account.id])).toEqual([]);
  });

  it('does not count once another way of signing in is required', async () => {
    const { account } = await accountWithKey();
    const { token } = await start(account);
    expect(await elsewhere({ onlyOidc: true, issuer: 'https://id.example.com' }).find(token)).toBeNull();
    expect(await elsewhere({ issuer: 'https://id.example.com' }).find(token)).not.toBeNull();
  });

  it('is the oldest to end when its key has too many', async () => {
    const { account } = await accountWithKey();
    const tokens: string[] = [];
    for (let n = 0; n <= SESSION_LIMITS.ofHolder; n += 1) {
      tokens.push((await start(account)).token);
      await makeSignInsOld(account);
    }
    expect(await Promise.all(tokens.slice(0, 3).map((token) => elsewhere().find(token)))).toEqual([
      null,
      expect.anything(),
      expect.anything(),
    ]);
  });

  it('is refused to a key that has had twenty in a minute, also if these have ended', async () => {
    const { account } = await accountWithKey();
    const { id } = await op.accounts.createApiKey(account, 'another');
    const other = { ...account, actor: { ...account.actor, id } };
    for (let n = 0; n < SESSION_LIMITS.signInsPerMinute; n += 1) {
      await op.sessions.endOwn((await start(account)).token);
    }
    const refused = { message: 'more than 20 sign-ins in a minute: wait a minute' };
    await expect(op.sessions.startOfKey(account, null)).rejects.toBeInstanceOf(TooManySignIns);
    await expect(elsewhere().startOfKey(account, null)).rejects.toMatchObject(refused);
    expect(await op.sessions.startOfKey(other, null)).not.toBeNull();
    await makeSignInsOld(account);
    expect(await op.sessions.startOfKey(account, null)).not.toBeNull();
  });

  it('says when its member was here, also after it has ended', async () => {
    await op.firstAccount().catch(() => accountWithKey());
    const issuer = 'https://id.example.com';
    const { token, memberId } = await signInMember(issuer);
    const lastSeen = async () =>
      (await op.db.query<{ at: Date }>('select last_seen_at as at from member where id = $1', [memberId]))[0]?.at;
    await op.db.query(`update member set last_seen_at = now() - interval '1 day' where id = $1`, [memberId]);
    const before = await lastSeen();
    // A use within the minute of another one is not recorded.
    expect(await elsewhere({ issuer }).find(token)).not.toBeNull();
    expect(await lastSeen()).toEqual(before);
    await op.db.query(`update session set last_used_at = now() - interval '2 min' where member_id = $1`, [memberId]);
    const sessions = elsewhere({ issuer });
    expect(await sessions.find(token)).not.toBeNull();
    await waitFor(async () => (await lastSeen())?.getTime() !== before?.getTime(), {
      message: 'the use of the session',
    });
    const seen = await lastSeen();
    expect(Date.now() - (seen?.getTime() ?? 0)).toBeLessThan(60_000);
    await sessions.endOwn(token);
    expect(await op.db.query('select from session where member_id = $1', [memberId])).toEqual([]);
    expect(await lastSeen()).toEqual(seen);
  });

  it('is ended by its id within its account only', async () => {
    const [{ account }, { account: stranger }] = [await accountWithKey(), await accountWithKey()];
    const { token } = await start(account);
    const id = (await op.sessions.find(token))?.session?.id ?? '';
    for (const [who, unknown] of [
      [stranger, id],
      [account, UNKNOWN_ID],
      [account, "'"],
    ] as const) {
      await expect(op.sessions.endSession(who, unknown)).rejects.toMatchObject({
        kind: 'not_found',
        message: 'session not found',
      });
    }
    expect(await op.sessions.endSession(account, id)).toBe(id);
    expect(await elsewhere().find(token)).toBeNull();
    expect(await op.auditOf(id)).toMatchObject([
      { action: 'session.create' },
      { action: 'session.end', target_name: account.actor.label, actor_id: account.actor.id },
    ]);
  });
});

describe('a sign-in link', () => {
  it('signs the operator in to the first account, once', async () => {
    const first = await op.firstAccount().catch(() => accountWithKey().then(({ account }) => account));
    const link = await createLink(op.db, null, ADDRESS);
    expect(link).toMatch(/^https:\/\/example\.com\/jobferry\/sign-in#jfl_[\w-]{43}$/);
    const token = new URL(link).hash.slice(1);
    const used = await Promise.all([1, 2, 3].map(() => op.sessions.startOfLink(token, null)));
    const [session, ...more] = used.filter((result) => result !== null);
    expect(more).toEqual([]);
    expect(await op.sessions.find(session?.token ?? '')).toMatchObject({
      account: { id: first.id, actor: { type: 'operator', id: null, label: 'operator' } },
      access: { role: 'admin', mayViewPayloads: true },
    });
  });

  it('is not used up when its session cannot be stored', async () => {
    const { account } = await accountWithKey();
    const token = await tokenOf(createLink(op.db, account.id, ADDRESS));
    await op.db.query(`alter table audit_entry add constraint full_up check (account_id <> '${account.id}') not valid`);
    await expect(op.sessions.startOfLink(token, null)).rejects.toThrow();
    await op.db.query('alter table audit_entry drop constraint full_up');
    expect(await op.sessions.startOfLink(token, null)).not.toBeNull();
    expect(await op.sessions.startOfLink(token, null)).toBeNull();
  });

  it('works for ten minutes', async () => {
    const { account } = await accountWithKey();
    const token = await tokenOf(createLink(op.db, account.id, ADDRESS));
    await op.db.query(`update sign_in_link set expires_at = expires_at - interval '9 min 50 s' where account_id = $1`, [
      account.id,
    ]);
    const [left] = await op.db.query<{ hash: string; left: number }>(
      'select hash, extract(epoch from expires_at - now())::float8 as left from sign_in_link where account_id = $1',
      [account.id],
    );
    expect(left?.left).toBeLessThanOrEqual(10);
    expect(left?.hash).not.toContain(token.slice(4, 20));
    await op.db.query(`update sign_in_link set expires_at = now() - interval '1 second' where account_id = $1`, [
      account.id,
    ]);
    expect(await op.sessions.startOfLink(token, null)).toBeNull();
    // The next link removes those that were not used.
    await createLink(op.db, account.id, ADDRESS);
    expect(await op.db.query('select from sign_in_link where account_id = $1', [account.id])).toHaveLength(1);
  });

  it('is refused for an account that does not exist', async () => {
    await expect(createLink(op.db, UNKNOWN_ID, ADDRESS)).rejects.toMatchObject({ message: 'account not found' });
  });
});
