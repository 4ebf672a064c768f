import { browserOf } from './browser.ts';
import { NONE, number, span, time, type View } from './format.ts';
import { type Phrase, phrase } from './phrase.ts';
import type { IconName } from './words.ts';

/** The audit log in words: what was done, to what, and which fields changed. */

interface DeedWords {
  /** "paused", before the name of the target. */
  verb: string;
  /** In the list of filters. */
  label: string;
  icon: IconName;
}

export const DEEDS: Readonly<Record<string, DeedWords>> = {
  'account.create': { verb: 'created the account', label: 'account created', icon: 'plus' },
  'account.set_plan': { verb: 'changed the plan of', label: 'plan changed', icon: 'settings' },
  'account.set_limits': { verb: 'changed the limits of', label: 'limits changed', icon: 'settings' },
  'account.set_operator': {
    verb: 'changed the operator’s role of',
    label: 'operator’s role changed',
    icon: 'settings',
  },
  'account.suspend': { verb: 'suspended the account', label: 'account suspended', icon: 'paused' },
  'account.resume': { verb: 'resumed the account', label: 'account resumed', icon: 'play' },
  'account.restore': { verb: 'restored the account', label: 'account restored', icon: 'undo' },
  'account.delete': { verb: 'deleted the account', label: 'account deleted', icon: 'deleted' },
  'api_key.create': { verb: 'made the API key', label: 'API key made', icon: 'key' },
  'api_key.revoke': { verb: 'revoked the API key', label: 'API key revoked', icon: 'key' },
  'queue.create': { verb: 'created the queue', label: 'queue created', icon: 'plus' },
  'queue.update': { verb: 'changed the queue', label: 'queue changed', icon: 'edit' },
  'queue.delete': { verb: 'deleted the queue', label: 'queue deleted', icon: 'deleted' },
  'queue.pause': { verb: 'paused the queue', label: 'queue paused', icon: 'paused' },
  'queue.resume': { verb: 'resumed the queue', label: 'queue resumed', icon: 'play' },
  'queue.end_hold': { verb: 'ended the hold of', label: 'hold ended', icon: 'held' },
  'queue.rotate_secret': { verb: 'began to rotate the secret of', label: 'rotation of a secret begun', icon: 'key' },
  'queue.finish_rotation': { verb: 'finished the rotation of', label: 'rotation of a secret finished', icon: 'key' },
  'queue.encrypt_payloads': { verb: 'changed the encryption of', label: 'encryption changed', icon: 'settings' },
  'queue.set_standard_webhooks': {
    verb: 'changed the Standard Webhooks headers of',
    label: 'Standard Webhooks headers changed',
    icon: 'settings',
  },
  'queue.check_receiver': { verb: 'checked the receiver of', label: 'receiver checked', icon: 'send' },
  'queue.examine_receiver': { verb: 'examined the receiver of', label: 'receiver examined', icon: 'list' },
  'queue.open_tunnel': { verb: 'took the deliveries of', label: 'deliveries taken', icon: 'send' },
  'queue.mark_production': {
    verb: 'changed the production mark of',
    label: 'production mark changed',
    icon: 'settings',
  },
  'queue.set_breaker': { verb: 'changed the breaker of', label: 'breaker changed', icon: 'settings' },
  'queue.open_breaker': { verb: 'opened the breaker of', label: 'breaker opened', icon: 'failing' },
  'queue.close_breaker': { verb: 'closed the breaker of', label: 'breaker closed', icon: 'play' },
  'queue.purge': { verb: 'purged the queue', label: 'queue purged', icon: 'deleted' },
  'job.publish': { verb: 'published the job', label: 'job published', icon: 'plus' },
  'jobs.publish': { verb: 'published jobs in', label: 'jobs published', icon: 'plus' },
  'job.ack': { verb: 'acked the job', label: 'job acked', icon: 'check' },
  'job.nack': { verb: 'nacked the job', label: 'job nacked', icon: 'nacked' },
  'job.defer': { verb: 'deferred the job', label: 'job deferred', icon: 'held' },
  'job.extend_ack': { verb: 'extended the ack deadline of', label: 'ack deadline extended', icon: 'edit' },
  'job.cancel': { verb: 'cancelled the job', label: 'job cancelled', icon: 'cancelled' },
  'job.run_now': { verb: 'ran at once the job', label: 'job run at once', icon: 'play' },
  'jobs.run_now': { verb: 'ran many jobs at once', label: 'many jobs run at once', icon: 'play' },
  'jobs.cancel': { verb: 'cancelled many jobs', label: 'many jobs cancelled', icon: 'cancelled' },
  'dead_letter.replay': { verb: 'replayed a dead letter', label: 'dead letter replayed', icon: 'undo' },
  'dead_letters.replay': { verb: 'replayed dead letters of', label: 'dead letters replayed', icon: 'undo' },
  'member.create': { verb: 'signed in for the first time', label: 'first sign-in of a person', icon: 'user' },
  'member.change_access': { verb: 'got another role', label: 'role changed', icon: 'user' },
  'session.create': { verb: 'signed in', label: 'sign-in', icon: 'user' },
  'session.end': { verb: 'ended a session of', label: 'session ended', icon: 'user' },
  'sessions.end': { verb: 'ended all sessions of', label: 'all sessions of a person ended', icon: 'user' },
  'bulk_action.cancel': { verb: 'stopped the action', label: 'action stopped', icon: 'stop' },
  'bulk_action.pause': { verb: 'paused the action', label: 'action paused', icon: 'paused' },
  'bulk_action.resume': { verb: 'resumed the action', label: 'action resumed', icon: 'play' },
  'error_group.dismiss': { verb: 'dismissed a cause of dead letters', label: 'cause dismissed', icon: 'cancelled' },
  'alert_rule.create': { verb: 'made the alert rule', label: 'alert rule made', icon: 'plus' },
  'alert_rule.update': { verb: 'changed the alert rule', label: 'alert rule changed', icon: 'edit' },
  'alert_rule.delete': { verb: 'deleted the alert rule', label: 'alert rule deleted', icon: 'deleted' },
  'alert_rule.rotate_secret': {
    verb: 'replaced the secret of',
    label: 'secret of an alert rule replaced',
    icon: 'key',
  },
  'alert_rule.silence': { verb: 'changed the silence of', label: 'alert rule silenced', icon: 'paused' },
  'alert_rule.test': { verb: 'tried the alert rule', label: 'alert rule tried', icon: 'send' },
  'saved_view.save': { verb: 'saved the view', label: 'view saved', icon: 'plus' },
  'saved_view.delete': { verb: 'deleted the view', label: 'view deleted', icon: 'deleted' },
  'error_group.restore': { verb: 'restored a cause of dead letters', label: 'cause restored', icon: 'undo' },
};

/** An action without words here is shown by its name: `member.remove` is "member: remove". */
export function wordsOfDeed(action: string): DeedWords {
  const name = action.replace('.', ': ').replaceAll('_', ' ');
  return DEEDS[action] ?? { verb: name, label: name, icon: 'activity' };
}

export interface Entry {
  action: string;
  targetType: string;
  targetId: string;
  targetName: string | null;
  before: unknown;
  after: unknown;
}

/** The name of what was changed; null when the words of the deed say it all. */
export function nameOfTarget({ action, targetType, targetId, targetName, after }: Entry): string | null {
  // The person who signs in is the actor.
  if (/^(session\.create|member\.)/.test(action)) return null;
  const actionId = memberOf(after, 'actionId');
  switch (targetType) {
    case 'queue':
    case 'account':
      return targetName;
    case 'job':
    case 'bulk_action':
      return `…${targetId.slice(-5)}`;
    case 'dead_letter':
      return null;
    case 'alert_rule':
      return targetName?.replaceAll('_', ' ') ?? null;
    case 'api_key':
      return targetName ?? keyText(after) ?? `…${targetId.slice(-5)}`;
    default:
      return targetName ?? (typeof actionId === 'string' ? `…${actionId.slice(-5)}` : null);
  }
}

/** "jf_4kQ…x7Pd paused the queue order-events at 11:42:10." */
export function sentenceOfEntry(entry: Entry & { actor: string; at: string }, view: View): Phrase {
  const at = Date.parse(entry.at);
  const name = nameOfTarget(entry);
  const what = `${entry.actor} ${wordsOfDeed(entry.action).verb}${name === null ? '' : ` ${name}`}`;
  return phrase`${what} at ${{ at, text: time(at, view) }}.`;
}

/** Settings of a queue within a sentence. */
const SETTINGS: Readonly<Record<string, string>> = {
  webhookUrl: 'webhook address',
  mode: 'mode',
  ackTimeout: 'time to report',
  ackTimeoutAction: 'end of jobs without a report',
  concurrency: 'concurrency',
  rateLimitMax: 'rate limit',
  rateLimitWindow: 'window of the rate limit',
  maxAttempts: 'number of attempts',
  backoffType: 'kind of back-off',
  backoffDelay: 'back-off',
  maxDefers: 'number of holds',
  dlqEnabled: 'keeping of dead letters',
};

/** The deed on a queue, for a page that is about it: "changed the webhook address", "paused the queue". */
export function deedOnQueue(entry: Entry): string {
  if (entry.action !== 'queue.update') return wordsOfDeed(entry.action).verb.replace(/ of$/, '');
  const names = fieldChanges(entry).map(({ field }) => SETTINGS[field] ?? field);
  return names.length > 2 ? `changed ${number(names.length)} settings` : `changed the ${names.join(' and the ')}`;
}

/** "sam@example.com changed the webhook address 4 min before": the change before a cause of death. */
export function changeBefore(entry: Entry & { actor: string; at: string }, firstSeen: string): string {
  const passed = Math.max(1000, Date.parse(firstSeen) - Date.parse(entry.at));
  return `${entry.actor} ${deedOnQueue(entry)} ${span(Math.floor(passed / 60_000) * 60_000 || passed)} before`;
}

/** The bulk action that a change began; null if it began none. */
export function actionOf({ after }: Entry): string | null {
  const id = memberOf(after, 'actionId');
  return typeof id === 'string' ? id : null;
}

function keyText(after: unknown): string | null {
  const [prefix, lastFour] = [memberOf(after, 'prefix'), memberOf(after, 'lastFour')];
  return typeof prefix === 'string' && typeof lastFour === 'string' ? `${prefix}…${lastFour}` : null;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export interface FieldChange {
  field: string;
  /** It is null if there was no such field. */
  before: string | null;
  after: string | null;
}

/** Members that differ, those of the later value first. An id of an action is a link elsewhere, so it is left out. */
export function fieldChanges({ before, after }: Pick<Entry, 'before' | 'after'>): FieldChange[] {
  const [old, now] = [membersOf(before), membersOf(after)];
  if (typeof now.userAgent === 'string') {
    now.browser = browserOf(now.userAgent);
    delete now.userAgent;
  }
  const fields = [...new Set([...Object.keys(now), ...Object.keys(old)])].filter((field) => field !== 'actionId');
  return fields.flatMap((field) => {
    const change = { field, before: textOf(old[field]), after: textOf(now[field]) };
    return change.before === change.after ? [] : [change];
  });
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  if (value === null) return NONE;
  if (typeof value === 'number') return Number.isInteger(value) ? number(value) : String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
