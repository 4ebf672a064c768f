import { type ProvidedPerson, signInMember } from '../../db/members.ts';
import { operatorsAccountId } from '../../db/operator-account.ts';
import { endSessionsOfPerson } from '../../db/sessions.ts';
import { JobferryError } from '../../domain/errors.ts';
import { accessByClaims, type RoleTable } from '../../domain/role-table.ts';
import { SESSION_LIMITS, TooManySignIns } from '../../domain/session.ts';
import { isStorableText } from '../../domain/text.ts';
import type { Context } from '../context.ts';
import { type OidcProvider, type PendingSignIn, SignInFailure } from '../oidc/provider.ts';
import { browserOf, type NewSession } from './sessions.ts';
import { generateToken, hashToken } from './token.ts';

type Claims = Readonly<Record<string, unknown>>;

/** Signs people in with the OpenID provider. All of them are members of the operator's account. */
export function createOidcSignIn(
  { db, prisma, signIn }: Pick<Context, 'db' | 'prisma' | 'signIn'>,
  provider: Pick<OidcProvider, 'begin' | 'finish'>,
  roles: RoleTable,
) {
  return {
    /** @returns the address at the provider to which the browser is sent @throws SignInFailure */
    begin: () => provider.begin(),

    /**
     * Starts a session of the person whom the provider has identified. The access is evaluated at each sign-in; without
     * a role, the sessions that the person has end.
     * @param answered the address to which the provider has sent the browser
     * @throws SignInFailure, JobferryError `unavailable`
     */
    async finish(answered: URL, pending: PendingSignIn, userAgent: string | null): Promise<NewSession> {
      const claims = withoutForeignAddress(await provider.finish(answered, pending));
      const person = personOf(signIn.issuer ?? '', claims);
      const accountId = await operatorsAccountId(db);
      if (accountId === null) throw new Error('there is no account');
      const access = accessByClaims(roles, claims);
      if (access === null) {
        // The former rights of a person must not last for as long as a session may.
        await db.changingTurns.run(accountId, () => endSessionsOfPerson(db, accountId, person));
        const names = [...roles.keys()].join(', ');
        throw new SignInFailure(
          'no_role',
          `OIDC_ROLES grants no role to ${person.subject}; it looks at the claim ${names}`,
        );
      }
      const token = generateToken('session');
      const session = { hash: hashToken(token), userAgent: browserOf(userAgent), maxMs: signIn.sessionMaxMs };
      const { expiresAt } = await db.changingTurns
        .run(accountId, () => signInMember(prisma, accountId, person, access, session))
        .catch((error: unknown) => {
          throw failureOf(error);
        });
      return { token, expiresAt };
    },
  };
}

/**
 * Removes an address that may be another person's: roles are granted by it, and the audit log names people by it. Some
 * providers send `email_verified` as a text, some not at all; docs/operations.md warns of one whose addresses are
 * unverified.
 */
function withoutForeignAddress(claims: Claims): Claims {
  const { email_verified: verified = true } = claims;
  return verified === true || verified === 'true' ? claims : { ...claims, email: undefined };
}

function failureOf(error: unknown): unknown {
  if (error instanceof TooManySignIns) return new SignInFailure('too_many_failures', error.message);
  const isFull = error instanceof JobferryError && error.kind === 'forbidden';
  return isFull ? new SignInFailure('too_many_members', error.message) : error;
}

/** @throws SignInFailure `invalid` */
function personOf(issuer: string, claims: Claims): ProvidedPerson {
  const { sub: subject } = claims;
  if (typeof subject !== 'string' || subject.length > SESSION_LIMITS.claim || !isStorableText(subject)) {
    throw new SignInFailure('invalid', `the claim sub must be a text of at most ${SESSION_LIMITS.claim} characters`);
  }
  return {
    issuer,
    subject,
    name: textOf(claims.name) ?? textOf(claims.preferred_username),
    email: textOf(claims.email),
  };
}

/** Returns a claim for people; null if there is none. Characters that would disturb a line of text are removed. */
function textOf(claim: unknown): string | null {
  if (typeof claim !== 'string') return null;
  const text = claim
    .replaceAll(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, SESSION_LIMITS.claim)
    .toWellFormed();
  return text === '' ? null : text;
}
