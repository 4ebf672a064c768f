import type { Actor, Author } from './audit.ts';

/** The account of a client, found by one of its API keys or by a session. */
export interface Account {
  id: string;
  name: string;
  /** Name of a plan in the variable PLANS. */
  plan: string;
  /** The API key or the person that makes the requests, for the audit log. */
  actor: Actor;
}

/** Returns the author of a change that the client requests. */
export function authorOf({ id: accountId, actor }: Account): Author {
  return { accountId, actor };
}
