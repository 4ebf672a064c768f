import { queuePath } from '../../../../query/filter/links.ts';
import { count, many, minute, time, type View } from '../../../../query/words/format.ts';
import { type Entry, nameOfTarget, verbOfEntry, wordsOfAction } from '../../../words/audit.ts';

/** The list of changes: where each leads to, and sign-ins and actions on many queues folded into lines. */

/** The name of what was changed, and its page; both null when the words of the action say it all. */
export function targetOf(entry: Entry): { name: string | null; path: string | null } {
  const name = nameOfTarget(entry);
  return { name, path: pathOf(entry, name) };
}

function pathOf({ action, targetType, targetId }: Entry, name: string | null): string | null {
  if (name === null || action === 'queue.delete') return null;
  switch (targetType) {
    case 'queue':
      return queuePath(name);
    case 'job':
      return `/jobs/${targetId}`;
    case 'bulk_action':
      return `/actions/${targetId}`;
    case 'alert_rule':
      return '/alerts';
    case 'api_key':
      return '/settings/keys';
    default:
      return null;
  }
}

interface ListedEntry extends Entry {
  id: string;
  at: string;
  actor: string;
  memberId: string | null;
}

/** One entry, or a run of sign-ins without a change between them, or of one action on many queues. */
export type Line<E> = E | readonly E[];

export const isRun = <E>(line: Line<E>): line is readonly E[] => Array.isArray(line);

const isSignIn = ({ action }: Pick<Entry, 'action'>) => action.startsWith('session.');

/** Entries of one action follow each other as closely. */
const SAME_ACTION_MS = 10_000;
/** Fewer stand as they are. */
const MANY_QUEUES = 3;

type Foldable = Pick<ListedEntry, 'action' | 'actor' | 'after' | 'at' | 'targetType' | 'targetId'>;

/** Whether the entry is of the same action, on another queue: an undo is an action of its own. */
function continuesAction(run: readonly Foldable[], entry: Foldable): boolean {
  const { action, actor, at, targetType, targetId } = entry;
  const last = run.at(-1);
  return (
    last !== undefined &&
    targetType === 'queue' &&
    last.action === action &&
    verbOfEntry(last) === verbOfEntry(entry) &&
    last.actor === actor &&
    Date.parse(last.at) - Date.parse(at) <= SAME_ACTION_MS &&
    run.every((other) => other.targetId !== targetId)
  );
}

/**
 * Entries, the newest first: an action on three or more queues is one line, and so are two or more sign-ins, unless
 * the filter wants them.
 */
export function folded<E extends Foldable>(entries: readonly E[], hasSignIns: boolean): Line<E>[] {
  const lines: E[][] = [];
  for (const entry of entries) {
    const last = lines.at(-1);
    const isRunOn =
      last?.[0] !== undefined && (isSignIn(entry) ? hasSignIns && isSignIn(last[0]) : continuesAction(last, entry));
    if (isRunOn) last.push(entry);
    else lines.push([entry]);
  }
  return lines.flatMap((line): Line<E>[] => {
    const [first] = line;
    const isFolded = first !== undefined && line.length >= (isSignIn(first) ? 2 : MANY_QUEUES);
    return isFolded ? [line] : line;
  });
}

/** Words for a folded line. `isCut`: the run has more, which were not read. */
export function lineOfRun(run: readonly ListedEntry[], view: View, isCut: boolean) {
  const [first] = run;
  if (first === undefined || isSignIn(first)) return { ...runOfSignIns(run, view, isCut), icon: 'user' as const };
  const { icon } = wordsOfAction(first.action);
  const queues = `${count(run.length, !isCut)}\u00a0queues`;
  return {
    what: `${first.actor} ${verbOfEntry(first).replace(/ the queue$/, '')} ${queues}`,
    when: time(Date.parse(first.at), view),
    icon,
  };
}

/** "12 sign-ins of 3 people", and "09:12 to 10:40". `isCut`: the run has more, which were not read. */
function runOfSignIns(run: readonly ListedEntry[], view: View, isCut: boolean): { what: string; when: string } {
  const begun = run.filter(({ action }) => action === 'session.create').length;
  const ended = run.length - begun;
  const counts = [begun > 0 ? many(begun, 'sign-in') : '', ended > 0 ? many(ended, 'ended session') : ''];
  const actors = new Set(run.map(({ actor }) => actor));
  const [only = ''] = actors;
  const kind = run.every(({ memberId }) => memberId !== null) ? 'people' : 'people and keys';
  const by = actors.size === 1 ? only : `${actors.size} ${kind}`;
  const what = `${counts.filter(Boolean).join(' and ')} of ${by}`;
  const [from, to] = [run.at(-1), run[0]].map((entry) => minute(Date.parse(entry?.at ?? ''), view));
  return { what: isCut ? `At least ${what}` : what, when: from === to ? (to ?? '') : `${from} to ${to}` };
}
