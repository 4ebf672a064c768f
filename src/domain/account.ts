import type { Actor, Author } from './audit.ts';

/** The account of a caller, as one of its API keys found it. */
export interface Account {
  id: string;
  name: string;
  /** A key of the plan table. */
  plan: string;
  /** The API key that the caller uses, for the audit log. */
  actor: Actor;
}

/** Returns the author of a change that the account's API key requests. */
export function authorOf({ id: accountId, actor }: Account): Author {
  return { accountId, actor };
}
