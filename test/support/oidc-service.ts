import { createTestDatabase } from './database.ts';
import { createGraphQLClient, type GraphQL } from './graphql.ts';
import { Browser, CLIENT, type IdentityProvider, startIdentityProvider } from './identity-provider.ts';
import { lastingPort } from './lasting-port.ts';
import { type Jobferry, startJobferry } from './process.ts';

/**
 * A process whose people sign in with a real OpenID provider, at an address with a path prefix that a proxy passes on.
 */
export interface OidcService {
  idp: IdentityProvider;
  jobferry: Jobferry;
  databaseUrl: string;
  /** Variables of the process. */
  env: Record<string, string>;
  /** The address in browsers. */
  address: string;
  /** Goes to the provider and through its pages, up to the address to which it sends the browser back. */
  answerOfProvider(browser: Browser, to?: string): Promise<URL>;
  /** Signs the person of the provider in. `at`: where the browser is sent in the end. */
  signIn(browser?: Browser, to?: string): Promise<{ browser: Browser; at: string }>;
  isSignedIn(browser: Browser): Promise<boolean>;
  graphqlOf(browser: Browser): GraphQL;
  /** The address to which a failed sign-in leads. */
  failed(code: string): string;
}

export async function startWithProvider(variables: Record<string, string>): Promise<OidcService> {
  const databaseUrl = (await createTestDatabase()).url;
  const port = await lastingPort();
  const address = `http://127.0.0.1:${port}/jobs-ui/`;
  const idp = await startIdentityProvider([`${address}session/oidc/callback`]);
  const env = {
    PORT: String(port),
    PUBLIC_URL: address,
    OIDC_ISSUER: idp.issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
    ...variables,
  };
  const jobferry = await startJobferry({ databaseUrl, env });
  const isAtProvider = (url: URL) => url.origin === idp.issuer;

  const answerOfProvider: OidcService['answerOfProvider'] = async (browser, to = '/') => {
    const { location, status, text } = await browser.get(`${address}session/oidc?to=${encodeURIComponent(to)}`);
    if (location === null || !isAtProvider(location)) throw new Error(`${status} ${location?.href} ${text}`);
    return browser.follow(location, isAtProvider);
  };

  return {
    idp,
    jobferry,
    databaseUrl,
    env,
    address,
    answerOfProvider,
    async signIn(browser = new Browser(), to = '/') {
      const { location } = await browser.get(await answerOfProvider(browser, to));
      return { browser, at: location?.href ?? '' };
    },
    async isSignedIn(browser) {
      const { text } = await browser.get(`${address}session`);
      return (JSON.parse(text) as { signedIn: boolean }).signedIn;
    },
    graphqlOf(browser) {
      const { origin } = new URL(address);
      const headers = { cookie: browser.cookieOf(address), origin, 'jobferry-dashboard': '1' };
      return createGraphQLClient(jobferry.baseUrl, { ...headers, 'content-type': 'application/json' });
    },
    failed: (code) => `${address}sign-in?error=${code}`,
  };
}
