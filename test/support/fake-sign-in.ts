import { type SignIn, TrustedProxies } from '../../src/http/index.ts';
import { account, KEY } from './fake-services.ts';

export const LINK = 'jfl_link';
export const TOKEN = 'jfs_token';

/** Stands in for sessions: one key, one link, and one session, which `endOwn` ends. */
export function fakeSignIn(overrides: Partial<SignIn> = {}): SignIn {
  let isEnded = false;
  const session = () => {
    isEnded = false;
    return { token: TOKEN, expiresAt: new Date(Date.now() + 60_500) };
  };
  return {
    accounts: { authenticate: async (key) => (key === KEY ? account : null) },
    sessions: {
      find: async (token) =>
        token !== TOKEN || isEnded
          ? null
          : {
              account,
              access: { role: 'admin', mayViewPayloads: true },
              person: null,
              session: { id: 'session', expiresAt: new Date() },
            },
      startOfKey: async () => session(),
      startOfLink: async (link) => (link === LINK ? session() : null),
      endOwn: async () => {
        isEnded = true;
      },
    },
    address: { url: null },
    trustedProxies: new TrustedProxies([]),
    takesKeys: true,
    oidc: null,
    ...overrides,
  };
}
