import type { Actor, Author } from './audit.ts';
import { JobferryError } from './errors.ts';
import type { KeyRights } from './key-rights.ts';

/** The account of a client, found by one of its API keys or by a session. */
export interface Account {
  id: string;
  name: string;
  /** Name of a plan in the variable PLANS. */
  plan: string;
  /** The API key or the person that makes the requests, for the audit log. */
  actor: Actor;
  /** True while the operator has suspended the account. */
  isSuspended?: boolean;
  /** Requests per second that the operator allows to this account; null or missing for the limit of all accounts. */
  requestsPerSecond?: number | null;
  /** The limits of the API key that makes the requests; missing if it has none, or the client is a person. */
  rights?: KeyRights;
}

/** @throws JobferryError `forbidden` while the account is suspended: it gets no new jobs, and its queues stay paused */
export function assertNotSuspended({ isSuspended }: Pick<Account, 'isSuspended'>): void {
  if (isSuspended === true) {
    throw new JobferryError('forbidden', 'this account is suspended: ask the operator of this service to resume it');
  }
}

/** Returns the author of a change that the client requests. */
export function authorOf({ id: accountId, actor }: Account): Author {
  return { accountId, actor };
}
