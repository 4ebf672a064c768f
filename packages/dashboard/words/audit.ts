import { time, type View } from '../../query/words/format.ts';
import { browserOf } from './browser.ts';
import { type Phrase, phrase } from './phrase.ts';
import {
  type ActionWords,
  type Entry,
  type FieldChange,
  nameOfAction,
  fieldChanges as plainChanges,
  probeVerb,
  QUEUE_ACTIONS,
  SETTINGS,
} from './queue-actions.ts';

export type { Entry, FieldChange } from './queue-actions.ts';

/** The audit log in words: what was done, to what, and which fields changed. */

export const ACTIONS: Readonly<Record<string, ActionWords>> = {
  'account.create': { verb: 'created the account', icon: 'plus' },
  'account.set_plan': { verb: 'changed the plan of', icon: 'settings' },
  'account.set_limits': { verb: 'changed the limits of', icon: 'settings' },
  'account.set_operator': {
    verb: 'changed the operator’s role of',
    icon: 'settings',
  },
  'account.suspend': { verb: 'suspended the account', icon: 'paused' },
  'account.resume': { verb: 'resumed the account', icon: 'play' },
  'account.restore': { verb: 'restored the account', icon: 'undo' },
  'account.delete': { verb: 'deleted the account', icon: 'deleted' },
  'api_key.create': { verb: 'created the API key', icon: 'key' },
  'api_key.revoke': { verb: 'revoked the API key', icon: 'key' },
  ...QUEUE_ACTIONS,
  'job.publish': { verb: 'published the job', icon: 'plus' },
  'jobs.publish': { verb: 'published jobs in', icon: 'plus' },
  'job.ack': { verb: 'acked the job', icon: 'check' },
  'job.nack': { verb: 'nacked the job', icon: 'nacked' },
  'job.defer': { verb: 'deferred the job', icon: 'held' },
  'job.extend_ack': { verb: 'extended the ack deadline of', icon: 'edit' },
  'job.cancel': { verb: 'cancelled the job', icon: 'cancelled' },
  'job.run_now': { verb: 'ran the job', label: 'job run now', icon: 'play' },
  'jobs.run_now': { verb: 'ran jobs in', label: 'jobs run now (bulk)', icon: 'play' },
  'jobs.cancel': { verb: 'cancelled jobs in', label: 'jobs cancelled (bulk)', icon: 'cancelled' },
  'dead_letter.replay': { verb: 'replayed a dead letter', icon: 'undo' },
  'dead_letters.replay': { verb: 'replayed dead letters in', icon: 'undo' },
  'member.create': { verb: 'signed in for the first time', label: 'first sign-in of a member', icon: 'user' },
  'member.change_access': { verb: 'got another role', label: 'role changed', icon: 'user' },
  'session.create': { verb: 'signed in', label: 'sign-in', icon: 'user' },
  'session.end': { verb: 'ended a session of', icon: 'user' },
  'sessions.end': { verb: 'ended all sessions of', icon: 'user' },
  'bulk_action.cancel': { verb: 'stopped the action', icon: 'stop' },
  'bulk_action.pause': { verb: 'paused the action', icon: 'paused' },
  'bulk_action.resume': { verb: 'resumed the action', icon: 'play' },
  'error_group.dismiss': { verb: 'dismissed a cause of dead letters', icon: 'cancelled' },
  'alert_rule.create': { verb: 'created the alert rule', icon: 'plus' },
  'alert_rule.update': { verb: 'changed the alert rule', icon: 'edit' },
  'alert_rule.delete': { verb: 'deleted the alert rule', icon: 'deleted' },
  'alert_rule.rotate_secret': { verb: 'replaced the alert secret of', icon: 'key' },
  'alert_rule.silence': { verb: 'changed the alert silence of', icon: 'paused' },
  'alert_rule.test': { verb: 'tested the alert rule', icon: 'send' },
  'saved_view.save': { verb: 'saved the view', icon: 'plus' },
  'saved_view.delete': { verb: 'deleted the view', icon: 'deleted' },
  'error_group.restore': { verb: 'restored a cause of dead letters', icon: 'undo' },
};

/** An action without words here is shown by its name. */
export function wordsOfAction(action: string): ActionWords {
  const name = nameOfAction(action);
  return ACTIONS[action] ?? { verb: name, icon: 'activity' };
}

/** For the list of filters: "queue paused" for "paused the queue". */
export const labelOfAction = ({ verb, label }: ActionWords): string =>
  label ?? verb.replace(/^(\w+) (?:the |an? )?(.+?)(?: of| in)?$/, '$2 $1');

export const verbOfEntry = (entry: Pick<Entry, 'action' | 'after'>): string =>
  probeVerb(entry) ?? wordsOfAction(entry.action).verb;

/** The name of what was changed; null when the words of the action say it all. */
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
