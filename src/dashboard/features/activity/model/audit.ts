import { queuePath } from '../../../filter/links.ts';
import { type Entry, nameOfTarget } from '../../../words/audit.ts';
import { many, minute, type View } from '../../../words/format.ts';

/** The list of changes: where each leads to, and sign-ins folded into lines. */

/** The name of what was changed, and its page; both null when the words of the deed say it all. */
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

/** One entry, or a run of sign-ins without a change between them. */
export type Line<E> = E | readonly E[];

export const isRun = <E>(line: Line<E>): line is readonly E[] => Array.isArray(line);

const isSignIn = ({ action }: Pick<Entry, 'action'>) => action.startsWith('session.');

/** Entries, the newest first, with each run of two or more sign-ins as one line. */
export function foldedSignIns<E extends Pick<Entry, 'action'>>(entries: readonly E[]): Line<E>[] {
  const lines: E[][] = [];
  for (const entry of entries) {
    const last = lines.at(-1);
    if (last?.[0] !== undefined && isSignIn(entry) && isSignIn(last[0])) last.push(entry);
    else lines.push([entry]);
  }
  return lines.map((line) => (line.length === 1 && line[0] !== undefined ? line[0] : line));
}

/** "12 sign-ins of 3 people", and "09:12 to 10:40". `isCut`: the run has more, which were not read. */
export function runOfSignIns(run: readonly ListedEntry[], view: View, isCut: boolean): { what: string; when: string } {
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
