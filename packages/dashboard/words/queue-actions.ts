import type { SettingName } from '../../../src/domain/queue-settings.ts';
import { HOUR_MS, NONE, number, span } from '../../query/words/format.ts';
import type { IconName } from '../../query/words/words.ts';

/** Changes of a queue in words, as charts and causes name them; `audit.ts` has those of everything else. */

export interface ActionWords {
  /** "paused", before the name of the target. */
  verb: string;
  /** In the list of filters, unless the verb has all of its words. */
  label?: string;
  icon: IconName;
}

export interface Entry {
  action: string;
  targetType: string;
  targetId: string;
  targetName: string | null;
  before: unknown;
  after: unknown;
}

type Happened = Pick<Entry, 'action' | 'before' | 'after'>;

/** In the order of the list of filters. */
export const QUEUE_ACTIONS: Readonly<Record<string, ActionWords>> = {
  'queue.create': { verb: 'created the queue', icon: 'plus' },
  'queue.update': { verb: 'changed the queue', icon: 'edit' },
  'queue.delete': { verb: 'deleted the queue', icon: 'deleted' },
  'queue.pause': { verb: 'paused the queue', icon: 'paused' },
  'queue.resume': { verb: 'resumed the queue', icon: 'play' },
  'queue.end_hold': { verb: 'ended the hold of', icon: 'held' },
  'queue.rotate_secret': { verb: 'started the secret rotation of', icon: 'key' },
  'queue.finish_rotation': { verb: 'finished the secret rotation of', icon: 'key' },
  'queue.encrypt_payloads': { verb: 'changed the encryption of', icon: 'settings' },
  'queue.set_standard_webhooks': {
    verb: 'changed the Standard Webhooks headers of',
    icon: 'settings',
  },
  'queue.check_receiver': { verb: 'checked the receiver of', icon: 'send' },
  'queue.examine_receiver': { verb: 'tested the receiver of', icon: 'list' },
  'queue.open_tunnel': { verb: 'redirected the deliveries of', icon: 'send' },
  'queue.end_tunnel': { verb: 'ended a tunnel of', icon: 'send' },
  'queue.mark_production': {
    verb: 'changed the production mark of',
    icon: 'settings',
  },
  'queue.set_breaker': { verb: 'changed the breaker of', icon: 'settings' },
  'queue.open_breaker': { verb: 'opened the breaker of', icon: 'failing' },
  'queue.close_breaker': { verb: 'closed the breaker of', icon: 'play' },
  'queue.purge': { verb: 'purged the queue', icon: 'deleted' },
};

/** A release that took over, as an entry among the changes: it is of all queues, and of no person. */
export const RELEASE = 'release';

/** The releases that took over from another one; the first one of a database changed nothing. */
export function releaseEntries(runs: readonly { version: string; before: string | null; at: string }[]) {
  return runs
    .filter(({ before }) => before !== null)
    .map(({ version, before, at }) => ({
      id: `${at} ${version}`,
      at,
      actor: `Jobferry ${version}`,
      memberId: null,
      action: RELEASE,
      targetType: RELEASE,
      targetId: '',
      targetName: before,
      before: null,
      after: null,
    }));
}

/** Settings of a queue within a sentence. */
export const SETTINGS: Readonly<Record<string, string>> = {
  webhookUrl: 'webhook address',
  mode: 'mode',
  ackTimeout: 'time to report',
  ackTimeoutAction: 'action at the ack timeout',
  concurrency: 'concurrency',
  rateLimitMax: 'rate limit',
  rateLimitWindow: 'rate limit window',
  maxAttempts: 'number of attempts',
  backoffType: 'back-off type',
  backoffDelay: 'back-off',
  maxDefers: 'number of holds',
  dlqEnabled: 'dead-letter setting',
} satisfies Record<SettingName | 'webhookUrl', string>;

/** The action on a queue, for a page that is about it: "changed the webhook address", "paused the queue". */
export function actionOnQueue(entry: Entry): string {
  if (entry.action === RELEASE) return `took over from ${entry.targetName}`;
  if (entry.action !== 'queue.update') return (probeVerb(entry) ?? verbOf(entry.action)).replace(/ of$/, '');
  const names = fieldChanges(entry).map(({ field }) => SETTINGS[field] ?? field);
  return names.length > 2 ? `changed ${number(names.length)} settings` : `changed the ${names.join(' and the ')}`;
}

/**
 * The newest of these changes in the hour before a cause began; null if there is none. A change of tags alone has no
 * effect on deliveries, so it is none.
 */
export function changeBeforeOf<Change extends Happened & { at: string }>(
  changes: readonly Change[],
  firstSeen: string,
): Change | null {
  const first = Date.parse(firstSeen);
  const before = changes.filter(
    (one) => Date.parse(one.at) <= first && Date.parse(one.at) >= first - HOUR_MS && !isOfTags(one),
  );
  return before.reduce<Change | null>((newest, one) => (newest === null || one.at > newest.at ? one : newest), null);
}

const isOfTags = (entry: Happened) =>
  entry.action === 'queue.update' && fieldChanges(entry).every(({ field }) => field === 'tags');

/** "sam@example.com changed the webhook address 4 min before": the change before a cause of death. */
export function changeBefore(entry: Entry & { actor: string; at: string }, firstSeen: string): string {
  const passed = Math.max(1000, Date.parse(firstSeen) - Date.parse(entry.at));
  return `${entry.actor} ${actionOnQueue(entry)} ${span(Math.floor(passed / 60_000) * 60_000 || passed)} before`;
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
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value !== 'object') return String(value);
  const texts = Object.entries(value).map(([name, one]) =>
    [...(Array.isArray(value) ? [] : [name]), textOf(one)].join(' '),
  );
  return texts.join(', ') || NONE;
}

/** The hold of an open breaker is not ended: its next probe comes sooner. Null for every other change. */
export const probeVerb = ({ action, after }: Pick<Entry, 'action' | 'after'>): string | null =>
  action === 'queue.end_hold' && 'nextProbeAt' in membersOf(after) ? 'asked for an early probe of' : null;

const verbOf = (action: string): string => QUEUE_ACTIONS[action]?.verb ?? nameOfAction(action);

/** The name of an action without words: `member.remove` is "member: remove". */
export const nameOfAction = (action: string): string => action.replace('.', ': ').replaceAll('_', ' ');
