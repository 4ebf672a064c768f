import type { Access } from './access.ts';
import { invalidField, JobferryError } from './errors.ts';
import { LIMITS } from './queue.ts';

/**
 * The rights of API keys: what a key may do, in which queues, and until when. A key without limits may do everything.
 */

/**
 * - `publish`: publish jobs
 * - `read`: read everything, payloads included
 * - `report`: ack, nack and defer jobs, and extend their ack deadline
 * - `manage`: create and change queues, change the state of queues, jobs and dead letters, and change alert rules and
 *   saved views
 * - `admin`: all of these, and API keys, members and sessions
 */
export const KEY_SCOPES = ['publish', 'read', 'report', 'manage', 'admin'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** The limits of a key that has limits. */
export interface KeyRights {
  scopes: readonly KeyScope[];
  /** Names of the queues that the key may use; empty for all. */
  queues: readonly string[];
  /** Null if the key does not expire. */
  expiresAt: Date | null;
}

export function hasScope({ scopes }: Pick<KeyRights, 'scopes'>, needed: KeyScope): boolean {
  return scopes.includes('admin') || scopes.includes(needed);
}

export function hasQueue({ queues }: Pick<KeyRights, 'queues'>, name: string): boolean {
  return queues.length === 0 || queues.includes(name);
}

/**
 * @param rights null for a key without limits
 * @throws JobferryError `forbidden`
 */
export function assertScope(rights: KeyRights | null | undefined, needed: KeyScope): void {
  if (rights == null || hasScope(rights, needed)) return;
  throw new JobferryError('forbidden', `this API key has no right to this: it needs the scope ${needed}`);
}

/**
 * GraphQL answers with whole objects, and searches all queues at once. So it needs the right to read, in all queues.
 * @throws JobferryError `forbidden`
 */
export function assertGraphQL(rights: KeyRights | null | undefined): void {
  if (rights == null) return;
  assertScope(rights, 'read');
  if (rights.queues.length > 0) {
    throw new JobferryError('forbidden', 'this API key is limited to some queues, so it can use the REST API only');
  }
}

/** The access of a key with limits to fields that need a role. Mutations need a scope instead. */
export function accessOfKey(rights: KeyRights): Access {
  const role = hasScope(rights, 'admin') ? 'admin' : hasScope(rights, 'manage') ? 'operator' : 'viewer';
  return { role, mayViewPayloads: true };
}

/** The limits of a new key, as they are requested. Members that are left out set no limit. */
export interface RequestedRights {
  scopes?: readonly KeyScope[] | null | undefined;
  queues?: readonly string[] | null | undefined;
  expiresAt?: Date | null | undefined;
}

const QUEUE_NAME = /^[a-z0-9_-]{1,64}$/;

/**
 * Returns the limits of a new key; null for a key without limits.
 * @param now time of the database
 * @throws JobferryError `invalid_fields`
 */
export function rightsOf({ scopes, queues, expiresAt }: RequestedRights, now: Date): KeyRights | null {
  const end = expiresAt ?? null;
  if (scopes != null && scopes.length === 0)
    throw invalidField('scopes', 'must have at least one scope, or be left out');
  if (queues != null && queues.length === 0)
    throw invalidField('queues', 'must have at least one name, or be left out');
  if (end !== null && !(end > now)) throw invalidField('expiresAt', 'must be in the future');
  const named = [...new Set(queues ?? [])];
  if (named.length > LIMITS.queuesOfKey) {
    throw invalidField('queues', `must have at most ${LIMITS.queuesOfKey} names`);
  }
  for (const name of named) {
    if (!QUEUE_NAME.test(name)) throw invalidField('queues', 'must be names of queues: 1 to 64 of a-z, 0-9, - and _');
  }
  if (scopes == null && named.length === 0 && end === null) return null;
  // A key that is limited to queues cannot be an admin of the account, so it has no default.
  if (scopes == null && named.length > 0) throw invalidField('scopes', 'must be given if the key is limited to queues');
  const granted = KEY_SCOPES.filter((scope) => (scopes ?? ['admin']).includes(scope));
  if (named.length > 0 && granted.includes('admin')) {
    throw invalidField('scopes', 'must not have admin if the key is limited to queues');
  }
  return { scopes: granted, queues: named, expiresAt: end };
}

/**
 * A key must not create one that outlives it. The scope `admin`, which creating keys needs, has no other limit.
 * @throws JobferryError `forbidden`
 */
export function assertNoLongerThan(creator: KeyRights | null | undefined, created: KeyRights | null): void {
  const end = creator?.expiresAt ?? null;
  if (end === null) return;
  if (created?.expiresAt == null || created.expiresAt > end) {
    throw new JobferryError(
      'forbidden',
      `this API key expires at ${end.toISOString()}, and so must keys that it creates`,
    );
  }
}
