import type { MemberRole } from '../../src/domain/access.ts';
import { createMember, OIDC_ENV, type TestMember } from '../support/members.ts';
import { startPathProxy } from '../support/path-proxy.ts';
import type { Session } from './page.ts';
import { type SeededService, seedService } from './seed.ts';

/** A member who has signed in, at a window of the tests. */
export interface Person extends TestMember {
  session: Session;
}

export type PersonName = 'viewer' | 'reader' | 'operator' | 'admin';

const ACCESS: Readonly<Record<PersonName, { role: MemberRole; mayViewPayloads?: boolean }>> = {
  viewer: { role: 'viewer' },
  reader: { role: 'viewer', mayViewPayloads: true },
  operator: { role: 'operator' },
  // As every admin, see `accessOf`.
  admin: { role: 'admin', mayViewPayloads: true },
};

/** The seeded service with an OpenID provider that is never asked, and ways to sign people in to it. */
export async function seedWithPeople() {
  // The provider needs PUBLIC_URL, which has to be known before the service has a port.
  const front = await startPathProxy('/', { removes: false });
  const service = await seedService({ front, env: OIDC_ENV });
  const url = front.url.replace(/\/$/, '');
  return { service, url, signIn: (name: PersonName) => signIn(service, url, name) };
}

async function signIn({ databaseUrl }: SeededService, url: string, name: PersonName): Promise<Person> {
  const member = await createMember({ databaseUrl, baseUrl: url }, ACCESS[name]);
  const [cookie = '', value = ''] = member.cookie.split('=');
  return { ...member, session: { url, cookie: { name: cookie, value } } };
}
