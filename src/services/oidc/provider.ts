import * as client from 'openid-client';
import { ExpectedError } from '../../domain/errors.ts';

/** Bounds of requests to the provider. */
const LIMITS = {
  /** Seconds that a request may take. */
  timeoutSeconds: 5,
  /** Milliseconds for which the provider's metadata is used before it is read again. */
  freshMs: 3_600_000,
  /** Milliseconds for which it is used while reading it again fails. */
  staleMs: 86_400_000,
  /** Milliseconds between two failing attempts to read it. */
  retryMs: 2_000,
  /** Sign-ins that the provider is being asked about at once. */
  atOnce: 20,
};

/** The kinds of failed sign-ins. The sign-in page has a sentence for each; a test compares the two. */
export const SIGN_IN_FAILURE_CODES = [
  /** The provider does not answer, or answers with an error of its own. */
  'provider_unavailable',
  /** The provider refused, for example because the person cancelled. */
  'refused',
  /** The answer of the provider, or its token, is not valid. */
  'invalid',
  /** The sign-in began in another browser, more than ten minutes ago, or was already completed. */
  'expired',
  /** OIDC_ROLES grants the person no role. */
  'no_role',
  /** The account has too many members. */
  'too_many_members',
  /** Too many failed sign-ins came from the address. */
  'too_many_failures',
] as const;
export type SignInFailureCode = (typeof SIGN_IN_FAILURE_CODES)[number];

/** A sign-in that has failed. The message is for the operator's log. */
export class SignInFailure extends ExpectedError {
  override readonly name = 'SignInFailure';
  readonly code: SignInFailureCode;

  constructor(code: SignInFailureCode, message: string, cause?: unknown) {
    super(message, cause);
    this.code = code;
  }
}

/** Secrets of a sign-in that has begun. The browser keeps them until it comes back. */
export interface PendingSignIn {
  state: string;
  nonce: string;
  verifier: string;
}

interface ProviderSettings {
  issuer: URL;
  clientId: string;
  /** Undefined for a public client. */
  clientSecret: string | undefined;
  scopes: string;
  /** To which the provider sends the browser back. */
  redirectUri: URL;
}

type Claims = Readonly<Record<string, unknown>>;

interface Discovered {
  configuration: client.Configuration;
  at: number;
}

/** An OpenID provider: signing in by authorization code with PKCE, state and nonce. */
export class OidcProvider {
  readonly #settings: ProviderSettings;
  readonly #now: () => number;
  #discovered: Discovered | null = null;
  #discovering: Promise<Discovered> | null = null;
  #failure: { error: SignInFailure; until: number } | null = null;
  #inProgress = 0;

  constructor(settings: ProviderSettings, now = () => performance.now()) {
    this.#settings = settings;
    this.#now = now;
  }

  /** @returns the address at the provider to which the browser is sent @throws SignInFailure */
  async begin(): Promise<{ url: URL; pending: PendingSignIn }> {
    const configuration = await this.#configuration();
    const pending = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#settings.redirectUri.href,
      scope: this.#settings.scopes,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    });
    return { url, pending };
  }

  /**
   * Exchanges the code with which the provider has sent the browser back.
   * @param answered the address to which the provider has sent the browser
   * @returns the claims of the ID token, and those of the provider's userinfo endpoint
   * @throws SignInFailure
   */
  async finish(answered: URL, pending: PendingSignIn): Promise<Claims> {
    if (this.#inProgress >= LIMITS.atOnce) {
      throw new SignInFailure('provider_unavailable', 'too many people are signing in at the moment');
    }
    this.#inProgress += 1;
    try {
      const configuration = await this.#configuration();
      return await exchange(configuration, answered, pending);
    } finally {
      this.#inProgress -= 1;
    }
  }

  /** Returns the provider's metadata. It is read when it is first needed, so a provider that is down stops no start. */
  async #configuration(): Promise<client.Configuration> {
    const present = this.#discovered;
    const age = present === null ? Number.POSITIVE_INFINITY : this.#now() - present.at;
    if (present !== null && age < LIMITS.freshMs) return present.configuration;
    try {
      return (await this.#discover()).configuration;
    } catch (error) {
      if (present !== null && age < LIMITS.staleMs) return present.configuration;
      throw error;
    }
  }

  #discover(): Promise<Discovered> {
    if (this.#failure !== null && this.#failure.until > this.#now()) return Promise.reject(this.#failure.error);
    this.#discovering ??= this.#discoverNow().finally(() => {
      this.#discovering = null;
    });
    return this.#discovering;
  }

  async #discoverNow(): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const isHere = issuer.protocol === 'http:';
    try {
      const configuration = await client.discovery(issuer, clientId, {}, authenticationOf(clientSecret), {
        timeout: LIMITS.timeoutSeconds,
        // The configuration allows http:// for this machine only.
        execute: isHere ? [client.allowInsecureRequests] : [],
      });
      // Otherwise the signature of an ID token that comes directly from the provider is not checked.
      client.enableNonRepudiationChecks(configuration);
      this.#failure = null;
      this.#discovered = { configuration, at: this.#now() };
      return this.#discovered;
    } catch (error) {
      const failure = new SignInFailure(
        'provider_unavailable',
        `${issuer.href} cannot be read: ${reasonOf(error)}`,
        error,
      );
      this.#failure = { error: failure, until: this.#now() + LIMITS.retryMs };
      throw failure;
    }
  }
}

async function exchange(configuration: client.Configuration, answered: URL, pending: PendingSignIn): Promise<Claims> {
  try {
    const tokens = await client.authorizationCodeGrant(configuration, answered, {
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      pkceCodeVerifier: pending.verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new SignInFailure('invalid', 'the provider sent no ID token');
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    // Some providers have groups and names there only.
    const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return { ...more, ...claims };
  } catch (error) {
    throw failureOf(error);
  }
}

function failureOf(error: unknown): SignInFailure {
  if (error instanceof SignInFailure) return error;
  const message = `the provider's answer was refused: ${reasonOf(error)}`;
  if (error instanceof client.AuthorizationResponseError) {
    const isDown = error.error === 'temporarily_unavailable' || error.error === 'server_error';
    return new SignInFailure(isDown ? 'provider_unavailable' : 'refused', message, error);
  }
  return new SignInFailure(isOfProvider(error) ? 'provider_unavailable' : 'invalid', message, error);
}

/** Whether the provider is at fault or unreachable, so that the same sign-in may succeed later. */
function isOfProvider(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof TypeError) return error.message === 'fetch failed';
  const { code } = error as { code?: unknown };
  if (code === 'OAUTH_TIMEOUT') return true;
  return error.cause instanceof Response && error.cause.status >= 500;
}

/** Most errors of the library say little, and their causes the rest. Tokens are in neither. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { error: code } = error as { error?: unknown };
  const cause =
    error.cause instanceof Response ? `status ${error.cause.status}` : (error.cause as Error | undefined)?.message;
  return [error.message, typeof code === 'string' ? code : undefined, cause].filter(Boolean).join(': ');
}

/** Sends the secret as the provider supports it; without a word about that, as OpenID Connect requires. */
function authenticationOf(secret: string | undefined): client.ClientAuth {
  if (secret === undefined) return client.None();
  const basic = client.ClientSecretBasic(secret);
  const post = client.ClientSecretPost(secret);
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}
