import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import type { Browser, IdentityProvider } from '../support/identity-provider.ts';
import { type OidcService, startWithProvider } from '../support/oidc-service.ts';
import { waitFor } from '../support/wait-for.ts';

/** A real OpenID provider's claims about a person decide what the person may do. */

const KEY = 'key-of-the-bootstrap-account';
const ROLES = {
  groups: { support: 'viewer', ops: 'operator+payloads', admins: 'admin' },
  email: { 'boss@example.com': 'admin' },
};

let service: OidcService;
let idp: IdentityProvider;

beforeAll(async () => {
  service = await startWithProvider({ BOOTSTRAP_API_KEY: KEY, OIDC_ROLES: JSON.stringify(ROLES) });
  ({ idp } = service);
});

beforeEach(() => {
  idp.person = { sub: 'ada' };
});

async function meOf(browser: Browser) {
  const query = '{ me { label role mayViewPayloads person { email } } }';
  return (await service.graphqlOf(browser).query(query)).me;
}

async function signInAsMe() {
  return meOf((await service.signIn()).browser);
}

describe('a person', () => {
  it('a person whose role changed has it at the next sign-in, and older sessions end', async () => {
    idp.person = { sub: 'moved', email: 'moved@example.com', groups: ['admins'] };
    const before = await service.signIn();
    idp.person.groups = ['support'];
    const after = await service.signIn();
    expect(await meOf(after.browser)).toMatchObject({ role: 'VIEWER', mayViewPayloads: false });
    await waitFor(async () => !(await service.isSignedIn(before.browser)));
    const { auditLog } = await createGraphQLClient(service.jobferry.baseUrl, KEY).query(
      '{ auditLog(action: "member.change_access") { nodes { actor before after } } }',
    );
    expect(auditLog.nodes).toEqual([
      {
        actor: 'moved@example.com',
        before: { role: 'admin', mayViewPayloads: true },
        after: { role: 'viewer', mayViewPayloads: false },
      },
    ]);
  });

  it('a person without any role left is refused, and the sessions end', async () => {
    idp.person = { sub: 'gone', email: 'gone@example.com', groups: ['admins'] };
    const before = [await service.signIn(), await service.signIn()];
    idp.person = { sub: 'stays', email: 'stays@example.com', groups: ['ops'] };
    const other = await service.signIn();
    idp.person = { sub: 'gone', email: 'new@example.com', groups: ['others'] };
    for (let n = 0; n < 2; n += 1) expect((await service.signIn()).at).toBe(service.failed('no_role'));
    for (const { browser } of before) await waitFor(async () => !(await service.isSignedIn(browser)));
    expect(await service.isSignedIn(other.browser)).toBe(true);
    const { auditLog } = await createGraphQLClient(service.jobferry.baseUrl, KEY).query(
      '{ auditLog(action: "sessions.end") { nodes { actor memberId targetType targetId targetName before after } } }',
    );
    const entry = { actor: 'gone@example.com', targetType: 'member', targetName: 'gone@example.com', before: null };
    expect(auditLog.nodes).toEqual([
      { ...entry, memberId: expect.any(String), targetId: expect.any(String), after: { ended: 2, reason: 'no_role' } },
    ]);
    expect(auditLog.nodes[0].targetId).toBe(auditLog.nodes[0].memberId);
  });

  it('a person that signs in again and again is refused until a minute has passed', async () => {
    idp.person = { sub: 'again', email: 'again@example.com', groups: ['support'] };
    const ends: string[] = [];
    for (let n = 0; n < 21; n += 1) ends.push((await service.signIn()).at);
    expect(ends).toEqual([...Array(20).fill(service.address), service.failed('too_many_failures')]);
    idp.person = { sub: 'another', groups: ['support'] };
    expect((await service.signIn()).at).toBe(service.address);
  });
});

describe('an e-mail address', () => {
  it.each([true, 'true', undefined])('grants its role when the provider calls it verified: %j', async (verified) => {
    idp.person = { sub: 'boss', email: 'boss@example.com', email_verified: verified };
    expect(await signInAsMe()).toMatchObject({ label: 'boss@example.com', role: 'ADMIN' });
  });

  it.each([false, 'false', 'no', 0])(
    'is not that of a person whom the provider has not verified: %j',
    async (verified) => {
      const name = 'Eve\u202e\n\u0000 x';
      idp.person = { sub: 'eve', name, email: 'ada@example.com', email_verified: verified, groups: ['ops'] };
      expect(await signInAsMe()).toMatchObject({ label: 'Eve  x (person eve)', person: { email: null } });
    },
  );

  it.each([false, 'false'])('grants no role to a person who only claims it: %j', async (verified) => {
    idp.person = { sub: 'mallory', email: 'boss@example.com', email_verified: verified };
    expect((await service.signIn()).at).toBe(service.failed('no_role'));
  });
});
