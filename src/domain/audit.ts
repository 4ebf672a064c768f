/** The audit log: every change that somebody made, by whom, and what was before and after. */

/** Who asks for a change. */
export interface Actor {
  type: 'api_key' | 'operator';
  /** Of the API key; null for the command line. */
  id: string | null;
  /** What people recognise the actor by, such as `jf_abc…wxyz`. */
  label: string;
}

/** Whoever runs the commands. */
export const OPERATOR: Actor = { type: 'operator', id: null, label: 'operator' };

/** The account that a change is made in, and the actor that makes it. */
export interface Author {
  accountId: string;
  actor: Actor;
}

/**
 * Reports and publishes are the work itself and not changes to how it is done: what became of a job
 * is in its history.
 */
const AUDIT_ACTIONS = [
  'account.create',
  'api_key.create',
  'api_key.revoke',
  'queue.create',
  'queue.update',
  'queue.delete',
  'queue.pause',
  'queue.resume',
  'queue.end_hold',
  'queue.rotate_secret',
  'queue.finish_rotation',
  'queue.encrypt_payloads',
  'queue.purge',
  'job.cancel',
  'job.run_now',
  'jobs.cancel',
  'dead_letter.replay',
  'dead_letters.replay',
  'bulk_action.cancel',
] as const;
type AuditAction = (typeof AUDIT_ACTIONS)[number];

const AUDIT_TARGETS = ['account', 'api_key', 'queue', 'job', 'dead_letter', 'bulk_action'] as const;
type AuditTarget = (typeof AUDIT_TARGETS)[number];

/** What is written of a change. Never a signing secret or the hash of a key. */
export interface AuditRecord {
  action: AuditAction;
  targetType: AuditTarget;
  targetId: string;
  /** What people know it by, at the time of the change. */
  targetName?: string | null | undefined;
  before?: object | null | undefined;
  after?: object | null | undefined;
}

/** The members that get another value, before and after; null when there is none. */
export function difference<T extends object>(
  present: T,
  changes: Partial<T>,
): { before: Partial<T>; after: Partial<T> } | null {
  const names = (Object.keys(changes) as (keyof T)[]).filter((name) => changes[name] !== present[name]);
  if (names.length === 0) return null;
  const pick = (from: Partial<T>) => Object.fromEntries(names.map((name) => [name, from[name]])) as Partial<T>;
  return { before: pick(present), after: pick(changes) };
}
