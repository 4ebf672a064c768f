import { browserOf } from './browser.ts';
import { time, type View } from './format.ts';
import { type Phrase, phrase } from './phrase.ts';
import {
  type DeedWords,
  type Entry,
  type FieldChange,
  nameOfAction,
  fieldChanges as plainChanges,
  probeVerb,
  QUEUE_DEEDS,
  SETTINGS,
} from './queue-deeds.ts';

export type { Entry, FieldChange } from './queue-deeds.ts';

/** The audit log in words: what was done, to what, and which fields changed. */

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
  ...QUEUE_DEEDS,
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

/** An action without words here is shown by its name. */
export function wordsOfDeed(action: string): DeedWords {
  const name = nameOfAction(action);
  return DEEDS[action] ?? { verb: name, label: name, icon: 'activity' };
}

export const verbOfEntry = (entry: Pick<Entry, 'action' | 'after'>): string =>
  probeVerb(entry) ?? wordsOfDeed(entry.action).verb;

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
  const what = `${entry.actor} ${verbOfEntry(entry)}${name === null ? '' : ` ${name}`}`;
  return phrase`${what} at ${{ at, text: time(at, view) }}.`;
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

/** As for a change of a queue; a browser that signed in has its name in place of all that it says of itself. */
export function fieldChanges({ before, after }: Pick<Entry, 'before' | 'after'>): FieldChange[] {
  const userAgent = memberOf(after, 'userAgent');
  if (typeof userAgent !== 'string') return plainChanges({ before, after });
  const { userAgent: _, ...others } = after as Record<string, unknown>;
  return plainChanges({ before, after: { ...others, browser: browserOf(userAgent) } });
}

/** The name of a field in words: "rate limit" for `rateLimitMax`, "takes over at" for `takesOverAt`. */
export function labelOfField(field: string): string {
  if (Object.hasOwn(SETTINGS, field)) return SETTINGS[field] ?? field;
  return field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Whether a value is a moment, as the audit log has it: `2026-11-28T02:55:28.001Z`. */
export const isMoment = (value: string) => /^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d+)?Z$/.test(value);
