import {
  accountOfLink,
  createSession,
  createSessionOfLink,
  createSignInLink,
  endSession,
  endSessionsOfMember,
  type FoundSession,
  noteSessionUse,
  sessionByHash,
} from '../../db/sessions.ts';
import { accessOf, FULL_ACCESS, type MemberRole } from '../../domain/access.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { type Actor, labelOfKey, labelOfMember, OPERATOR } from '../../domain/audit.ts';
import { notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { SESSION_LIMITS, type SessionHolder, type SignedIn } from '../../domain/session.ts';
import { CredentialCache, createUseNotes } from '../accounts/credential-cache.ts';
import type { Context } from '../context.ts';
import { generateToken, hashToken, isPlausibleToken } from './token.ts';

/** A session that was just created. Its token is the content of the browser's cookie. */
export interface NewSession {
  token: string;
  expiresAt: Date;
}

type SessionContext = Pick<Context, 'db' | 'prisma' | 'signIn'>;

/** Creates, finds and ends the sessions of the dashboard. */
export function createSessions({ db, prisma, signIn }: SessionContext) {
  const noteUse = createUseNotes((sessionId) => noteSessionUse(db, sessionId));
  const found = new CredentialCache<SignedIn>(async (hash) => {
    const session = await sessionByHash(db, hash);
    if (session === null || !isAccepted(session, signIn)) return null;
    if (session.isUseUnnoted) noteUse(session.id);
    return toSignedIn(session);
  });

  // All sessions of an account wait for its row, each with a connection.
  const inTurn = <T>(accountId: string, work: () => Promise<T>) => db.changingTurns.run(accountId, work);

  const newSession = (holder: SessionHolder, userAgent: string | null) => {
    const token = generateToken('session');
    const session = { hash: hashToken(token), holder, userAgent: browserOf(userAgent), maxMs: signIn.sessionMaxMs };
    return { token, session };
  };

  const find = async (token: string): Promise<SignedIn | null> => {
    if (!isPlausibleToken('session', token)) return null;
    const hash = hashToken(token);
    return found.find(hash);
  };

  return {
    /** Returns the client of a session; null when the token is malformed or unknown, or the session has ended. */
    find,

    /**
     * Starts a session of an API key. It ends when the key is revoked.
     * @returns null when the key was revoked
     * @throws TooManySignIns
     */
    async startOfKey(account: Account, userAgent: string | null): Promise<NewSession | null> {
      const { token, session } = newSession({ memberId: null, apiKeyId: account.actor.id }, userAgent);
      const stored = await inTurn(account.id, () => createSession(prisma, authorOf(account), session));
      return stored === null ? null : { token, expiresAt: stored.expiresAt };
    },

    /**
     * Starts a session of the operator.
     * @returns null when the link is malformed, unknown, used or expired
     * @throws TooManySignIns; the link can then still be used
     */
    async startOfLink(link: string, userAgent: string | null): Promise<NewSession | null> {
      if (!isPlausibleToken('link', link)) return null;
      const linkHash = hashToken(link);
      const accountId = await accountOfLink(db, linkHash);
      if (accountId === null) return null;
      const { token, session } = newSession({ memberId: null, apiKeyId: null }, userAgent);
      const by = { accountId, actor: OPERATOR };
      const stored = await inTurn(accountId, () => createSessionOfLink(prisma, by, session, linkHash));
      return stored === null ? null : { token, expiresAt: stored.expiresAt };
    },

    /** Ends the session with this token, if there is one. */
    async endOwn(token: string): Promise<void> {
      const signedIn = await find(token);
      if (signedIn?.session != null) await endSession(db, authorOf(signedIn.account), signedIn.session.id);
      found.forget(hashToken(token));
    },
  };
}

/** Ends sessions of the client's account. Every process refuses them within a second. */
export function createSessionChanges({ db }: Pick<Context, 'db'>) {
  return {
    /** @returns the session's id @throws JobferryError `not_found`, `unavailable` */
    async endSession(account: Account, sessionId: string): Promise<string> {
      if (!isId(sessionId) || !(await endSession(db, authorOf(account), sessionId))) throw notFound('session');
      return sessionId;
    },

    /** @returns the number of ended sessions @throws JobferryError `not_found`, `unavailable` */
    async endSessionsOfMember(account: Account, memberId: string): Promise<number> {
      const ended = isId(memberId) ? await endSessionsOfMember(db, authorOf(account), memberId) : null;
      if (ended === null) throw notFound('member');
      return ended;
    },
  };
}

/**
 * Creates a link that signs the operator in once, within ten minutes.
 * @param accountId the account to sign in to; null for the first one
 * @param address address of the dashboard
 * @throws JobferryError `not_found`, `unavailable`
 */
export async function createLink(db: Context['db'], accountId: string | null, address: URL): Promise<string> {
  const token = generateToken('link');
  if (!(await createSignInLink(db, accountId, hashToken(token), SESSION_LIMITS.linkMs))) throw notFound('account');
  // Browsers do not send the fragment to the server, so no log has it.
  return new URL(`sign-in#${token}`, address).href;
}

/** A session counts only while its way of signing in is configured. */
function isAccepted({ member }: FoundSession, { issuer, onlyOidc }: Context['signIn']): boolean {
  return member === null ? !onlyOidc : member.issuer === issuer;
}

function toSignedIn({ id, expiresAt, account, key, member }: FoundSession): SignedIn {
  const session = { id, expiresAt };
  if (member !== null) {
    const { name, email } = member;
    const actor: Actor = { type: 'member', id: member.id, label: labelOfMember(member) };
    const access = accessOf(member.role as MemberRole, member.mayViewPayloads);
    return { account: { ...account, actor }, access, person: { name, email }, session };
  }
  const actor: Actor = key === null ? OPERATOR : { type: 'api_key', id: key.id, label: labelOfKey(key) };
  return { account: { ...account, actor }, access: FULL_ACCESS, person: null, session };
}

/**
 * Returns what is stored of a User-Agent. It has no NUL, which the database would refuse, because no header has one.
 */
export function browserOf(userAgent: string | null): string | null {
  return userAgent === null ? null : userAgent.slice(0, SESSION_LIMITS.userAgent);
}
