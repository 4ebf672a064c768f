/** The audit log: every change, the actor that made it, and the values before and after. */

/** The person or program that requests a change. */
export interface Actor {
  type: 'api_key' | 'member' | 'operator';
  /**
   * Id of the API key or of the member; null for the operator.
   * Jobferry itself is `service` in the table; its SQL writes that.
   */
  id: string | null;
  /** Text by which people recognise the actor, such as `jf_abc…wxyz` or an e-mail address. */
  label: string;
}

/** The person who runs the admin commands, or has signed in with a link that the service printed. */
export const OPERATOR: Actor = { type: 'operator', id: null, label: 'operator' };

/** The account that a change is made in, and the actor that makes it. */
export interface Author {
  accountId: string;
  actor: Actor;
}

/** Compares actors by what identifies them: two people may have one label. */
export function isSameActor(one: Pick<Actor, 'type' | 'id'>, other: Pick<Actor, 'type' | 'id'>): boolean {
  return one.type === other.type && one.id === other.id;
}

/**
 * Whether publishes, reports (ack, nack, defer) and extensions of the actor are audited, as all its other changes are.
 * Programs make thousands of them a second, with API keys; they change no settings, and the job's history records their
 * results. A person at a dashboard makes few.
 */
export function isPerson({ type }: Actor): boolean {
  return type !== 'api_key';
}

/**
 * Returns what the audit log calls an API key: its name if it has one, and its ends,
 * because several keys may have one name.
 */
export function labelOfKey({ name, prefix, lastFour }: { name: string | null; prefix: string; lastFour: string }) {
  const ends = `${prefix}…${lastFour}`;
  return name === null ? ends : `${name} (${ends})`;
}

/**
 * Returns what the audit log calls a member: the address, which the provider has verified, or else the subject, by
 * which the provider knows the person. People choose their names, so a name alone could be that of another person, of a
 * key or of the operator.
 */
export function labelOfMember({
  email,
  name,
  subject,
}: {
  email: string | null;
  name: string | null;
  subject: string;
}) {
  if (email?.includes('@')) return email;
  return name === null ? `person ${subject}` : `${name} (person ${subject})`;
}

/**
 * The kinds of changes by group, also those of breakers that Jobferry opens and closes itself. `settings`: of the
 * account, queues, alert rules and saved views. `access`: keys and members. `jobs`: actions on jobs and dead letters,
 * and requests to receivers. `breakers`: their openings and ends alone. `sign_ins`: sessions that begin or end by
 * themselves.
 */
const ACTIONS_OF = {
  settings: [
    'account.create',
    'account.set_plan',
    'account.set_limits',
    'account.suspend',
    'account.resume',
    'account.delete',
    'account.restore',
    'queue.create',
    'queue.update',
    'queue.delete',
    'queue.pause',
    'queue.resume',
    'queue.end_hold',
    'queue.rotate_secret',
    'queue.finish_rotation',
    'queue.encrypt_payloads',
    'queue.set_standard_webhooks',
    'queue.open_tunnel',
    'queue.end_tunnel',
    'queue.mark_production',
    'queue.set_breaker',
    'alert_rule.create',
    'alert_rule.update',
    'alert_rule.delete',
    'alert_rule.rotate_secret',
    'alert_rule.silence',
    'saved_view.save',
    'saved_view.delete',
  ],
  access: [
    'account.set_operator',
    'api_key.create',
    'api_key.revoke',
    'member.create',
    'member.change_access',
    'sessions.end',
  ],
  jobs: [
    'queue.open_breaker',
    'queue.close_breaker',
    'queue.purge',
    'queue.check_receiver',
    'queue.examine_receiver',
    'job.publish',
    'job.ack',
    'job.nack',
    'job.defer',
    'job.extend_ack',
    'job.cancel',
    'job.run_now',
    'jobs.publish',
    'jobs.cancel',
    'jobs.run_now',
    'dead_letter.replay',
    'dead_letters.replay',
    'bulk_action.cancel',
    'bulk_action.pause',
    'bulk_action.resume',
    'error_group.dismiss',
    'error_group.restore',
    'alert_rule.test',
  ],
  // They are in `jobs`, too: here alone, for a list of changes of a queue.
  breakers: ['queue.open_breaker', 'queue.close_breaker'],
  sign_ins: ['session.create', 'session.end'],
} as const;
export type AuditGroup = keyof typeof ACTIONS_OF;
type AuditAction = (typeof ACTIONS_OF)[AuditGroup][number];

export const AUDIT_GROUPS = Object.keys(ACTIONS_OF) as readonly AuditGroup[];

/** Returns the kinds of changes of the groups, without duplicates. */
export function actionsOf(groups: readonly AuditGroup[]): string[] {
  return [...new Set(groups.flatMap<string>((group) => ACTIONS_OF[group]))];
}

const AUDIT_TARGETS = [
  'account',
  'api_key',
  'member',
  'session',
  'queue',
  'job',
  'dead_letter',
  'bulk_action',
  'error_group',
  'alert_rule',
  'saved_view',
] as const;
type AuditTarget = (typeof AUDIT_TARGETS)[number];

/** The audit log's data about one change. It never contains a signing secret or the hash of a key. */
export interface AuditRecord {
  action: AuditAction;
  targetType: AuditTarget;
  targetId: string;
  /** The target's name at the time of the change. */
  targetName?: string | null | undefined;
  before?: object | null | undefined;
  after?: object | null | undefined;
}

/** Returns the members whose value changes, before and after; null if none changes. */
export function difference<T extends object>(
  present: T,
  changes: Partial<T>,
): { before: Partial<T>; after: Partial<T> } | null {
  const names = (Object.keys(changes) as (keyof T)[]).filter((name) => changes[name] !== present[name]);
  if (names.length === 0) return null;
  const pick = (from: Partial<T>) => Object.fromEntries(names.map((name) => [name, from[name]])) as Partial<T>;
  return { before: pick(present), after: pick(changes) };
}
