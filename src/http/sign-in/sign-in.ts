import type { Request, Response } from 'express';
import type { Services } from '../../services/services.ts';
import type { createOidcSignIn } from '../../services/sign-in/oidc.ts';
import type { NewSession } from '../../services/sign-in/sessions.ts';
import type { TrustedProxies } from '../server/client-address.ts';
import { sessionCookie, sessionTokenIn, setCookie } from './cookies.ts';
import type { PublicAddress } from './public-address.ts';

/** The parts that the sign-in routes need. */
export interface SignIn {
  sessions: Pick<Services['sessions'], 'find' | 'startOfKey' | 'startOfLink' | 'endOwn'>;
  accounts: Pick<Services['accounts'], 'authenticate'>;
  address: PublicAddress;
  /** Failed sign-ins are counted by the address of the client, which these proxies pass on. */
  trustedProxies: TrustedProxies;
  /** Whether API keys and links may be exchanged for a session. */
  takesKeys: boolean;
  /** Null if there is no OpenID provider. */
  oidc: OidcSignIn | null;
}

/** Signing in with the OpenID provider. */
export interface OidcSignIn {
  /** Name of the provider for people. */
  name: string;
  people: ReturnType<typeof createOidcSignIn>;
  log: { warn(fields: object, message: string): void };
}

export function userAgentOf(req: Request): string | null {
  return req.headers['user-agent'] ?? null;
}

/** Gives the browser a new session, and ends the one that it had. */
export async function setSession(
  req: Request,
  res: Response,
  { sessions, address }: Pick<SignIn, 'sessions' | 'address'>,
  { token, expiresAt }: NewSession,
): Promise<void> {
  const present = sessionTokenIn(req, address);
  // The session that is left would end by itself, so an error does not stop the sign-in.
  if (present !== null) await sessions.endOwn(present).catch(() => undefined);
  const maxAge = Math.max(1, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
  res.appendHeader('set-cookie', setCookie(sessionCookie(req, address), token, maxAge));
}
