import { type Entry, fieldChanges } from '../../../words/queue-actions.ts';
import {
  type Breaker,
  type Change,
  FIELDS,
  type Field,
  type FieldName,
  type Settings,
  shown,
  shownBreaker,
  textOf,
  type Value,
} from './queue-settings.ts';

/** The changelog of a queue: each change in the words of its settings, and what it would be to put it back. */

const fieldOf = (name: string): Field | undefined => FIELDS.find((field) => field.name === name);

/** The audit log has the values of REST, where names of choices are in small letters. */
function settingOf(field: Field, value: unknown): Value {
  return (field.setting.kind === 'choice' && typeof value === 'string' ? value.toUpperCase() : value) as Value;
}

const membersOf = (value: unknown) =>
  (typeof value === 'object' && value !== null ? value : {}) as Partial<Record<FieldName | 'breaker', unknown>>;

const BREAKER = 'Breaker';

const breakerIn = (members: ReturnType<typeof membersOf>) => breakerOf((members.breaker ?? null) as Breaker | null);

/** Its settings alone, with null for what it does not go by, so that texts can be compared. */
const breakerOf = (breaker: Partial<Breaker> | null): Breaker | null =>
  breaker === null ? null : { failures: breaker.failures ?? null, seconds: breaker.seconds ?? null };

interface ChangeInWords {
  label: string;
  before: string | null;
  after: string | null;
}

/** Members whose labels are not their names; null for those that the action says already. */
const OTHERS: Readonly<Record<string, string | null>> = {
  pausedAt: null,
  pausedBy: null,
  takesOverAt: 'The new secret signs alone from',
  name: 'Name',
  heldUntil: 'Held until',
  jobs: 'Jobs that became due',
  standardWebhooks: 'Standard Webhooks headers',
  // A breaker that opened or closed has these.
  failed: 'Failed answers in a row',
  failedSince: 'Failed since',
  error: 'The last answer',
  nextProbeAt: 'Next probe',
  openedAt: 'Was open since',
  failedProbes: 'Failed probes',
};

/** 2026-11-26T17:11:27.076Z as people read it. */
const inDays = (text: string | null) => text?.replace(/^([\d-]{10})T([\d:]{8})[.\d]*Z$/, '$1 $2 UTC') ?? null;

/** The members that an entry changed: settings by their labels, and others by their names. */
export function inWords(entry: Entry): ChangeInWords[] {
  // A closing has what it ended, which is no value that went away.
  const { before: former, after: latter } =
    entry.action === 'queue.close_breaker' ? { before: null, after: entry.before } : entry;
  const [old, now] = [membersOf(former), membersOf(latter)];
  return fieldChanges({ before: former, after: latter }).flatMap(({ field: name, before, after }) => {
    if (name === 'breaker') {
      return [{ label: BREAKER, before: shownBreaker(breakerIn(old)), after: shownBreaker(breakerIn(now)) }];
    }
    const field = fieldOf(name);
    const label = Object.hasOwn(OTHERS, name) ? OTHERS[name] : name;
    if (field === undefined && label == null) return [];
    if (field === undefined) return [{ label: label ?? name, before: inDays(before), after: inDays(after) }];
    const text = (value: unknown) => (value === undefined ? null : shown(field, settingOf(field, value)));
    return [{ label: field.label, before: text(old[field.name]), after: text(now[field.name]) }];
  });
}

export interface Reversal {
  /** The settings that would change now. */
  changes: Change[];
  /** Settings that were changed again since, with their present values: these stay. */
  newer: { label: string; present: string }[];
}

/** Tags are lists, so texts are compared. */
const isSame = (one: Value, other: Value) => textOf(one) === textOf(other);

/** The change that reverts another one; null for an entry that is no change of settings. */
export function reversalOf(
  { action, ...entry }: Entry,
  queue: Settings & { breaker: Breaker | null },
): Reversal | null {
  const [old, now] = [membersOf(entry.before), membersOf(entry.after)];
  if (action === 'queue.set_breaker') return breakerBack(breakerIn(old), breakerIn(now), breakerOf(queue.breaker));
  if (action !== 'queue.update') return null;
  const back: Reversal = { changes: [], newer: [] };
  for (const field of FIELDS) {
    const { name, label, when } = field;
    if (!(name in old) || !(name in now)) continue;
    const [former, set, present] = [settingOf(field, old[name]), settingOf(field, now[name]), queue[name]];
    if (isSame(present, former)) continue;
    const text = shown(field, present);
    if (!isSame(present, set)) back.newer.push({ label, present: text });
    else back.changes.push({ name, label, when, value: former, from: text, to: shown(field, former) });
  }
  return back;
}

function breakerBack(former: Breaker | null, set: Breaker | null, present: Breaker | null): Reversal {
  const [was, made, is] = [former, set, present].map((one) => JSON.stringify(one));
  if (is === was) return { changes: [], newer: [] };
  const from = shownBreaker(present);
  if (is !== made) return { changes: [], newer: [{ label: BREAKER, present: from }] };
  const to = shownBreaker(former);
  return { changes: [{ name: 'breaker', label: BREAKER, when: 'now', value: former, from, to }], newer: [] };
}

/** Why a change has no button. */
export function whyNot({ action }: Pick<Entry, 'action'>, back: Reversal | null): string | null {
  if (action === 'queue.rotate_secret' || action === 'queue.finish_rotation') {
    return 'A rotation cannot be reverted. Rotate the secret again.';
  }
  if (back === null || back.changes.length > 0) return null;
  if (back.newer.length === 0) return 'The queue already has the former values.';
  return `${back.newer.length === 1 ? 'This was' : 'All of it was'} changed again since.`;
}
