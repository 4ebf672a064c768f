import type { Access } from './access.ts';
import type { Account } from './account.ts';
import { JobferryError } from './errors.ts';

/** Bounds of sessions. Beyond a number of sessions, the oldest one ends. */
export const SESSION_LIMITS = {
  /** Sessions of one member, of one API key, or of all sign-in links. */
  ofHolder: 20,
  ofAccount: 1000,
  /**
   * Sign-ins in a minute of one member, of one API key, or with all sign-in links.
   * Each leaves an entry in the audit log.
   */
  signInsPerMinute: 20,
  /** Members of one account. A further person is refused. */
  members: 10_000,
  /** Stored characters of a browser's User-Agent. */
  userAgent: 256,
  /** Stored characters of the name, the e-mail address and the subject that an OpenID provider sends. */
  claim: 255,
  /** Lifetime of a sign-in link in milliseconds. */
  linkMs: 600_000,
};

/** A sign-in that is refused because its holder has had `signInsPerMinute` in the last minute. */
export class TooManySignIns extends JobferryError {
  constructor() {
    super('forbidden', `more than ${SESSION_LIMITS.signInsPerMinute} sign-ins in a minute: wait a minute`);
  }
}

/** The holder of a session: a member, an API key, or, if both are null, the operator with a sign-in link. */
export interface SessionHolder {
  memberId: string | null;
  apiKeyId: string | null;
}

/** A person of an OpenID provider. */
export interface Person {
  name: string | null;
  email: string | null;
}

/** The client of a request: its account, and what it may do there. */
export interface SignedIn {
  account: Account;
  access: Access;
  /** Null for an API key and for the operator. */
  person: Person | null;
  /** Null for an API key, which needs no session. */
  session: { id: string; expiresAt: Date } | null;
}
