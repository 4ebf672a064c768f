import { chipsOf, toApi } from './engine.ts';
import { choice, FIELD, TIMES } from './kinds.ts';
import { toSearch } from './search.ts';
import type { Fields, Table } from './table.ts';
import { boundAt } from './time-bound.ts';

export const SINCE = {
  '1h': { label: 'the last hour', ms: 3_600_000 },
  '1d': { label: 'the last 24 hours', ms: 86_400_000 },
  '7d': { label: 'the last 7 days', ms: 7 * 86_400_000 },
} as const;

/** Groups of changes, with their names in the API. */
export const GROUPS = {
  settings: { label: 'changes of settings', api: 'SETTINGS' },
  access: { label: 'keys and members', api: 'ACCESS' },
  jobs: { label: 'actions on jobs', api: 'JOBS' },
  'sign-ins': { label: 'sign-ins', api: 'SIGN_INS' },
} as const;

/** The fields of the list of changes. */
export const ACTIVITY = {
  name: 'Changes',
  words: {
    group: { kind: choice(GROUPS), api: (name: keyof typeof GROUPS) => ({ groups: [GROUPS[name].api] }) },
    action: { kind: FIELD, api: 'action' },
    // The id of what was changed.
    target: { kind: FIELD, api: 'targetId' },
    actor: { kind: FIELD, api: 'actor' },
    // A span that a link names, in place of `since`.
    at: { kind: TIMES, api: 'at' },
    since: {
      kind: choice(SINCE),
      api: (name: keyof typeof SINCE, { now }) => ({ at: { from: new Date(now - SINCE[name].ms).toISOString() } }),
    },
  },
} as const satisfies Table;

export type ActivityFilter = Fields<typeof ACTIVITY>;

type Arguments = { groups?: ApiGroup[]; at?: { from?: string; to?: string } };
type ApiGroup = (typeof GROUPS)[keyof typeof GROUPS]['api'];

export const SIGN_INS: ApiGroup[] = ['SIGN_INS'];
const CHANGES: ApiGroup[] = ['SETTINGS', 'ACCESS', 'JOBS'];

/** Without a group and a kind, changes are listed alone, and the sign-ins between them are folded. */
export const foldsSignIns = ({ group, action }: ActivityFilter) => group === null && action === null;

export function toChanges(filter: ActivityFilter, now: number): Arguments {
  return { ...(foldsSignIns(filter) && { groups: CHANGES }), ...toApi(ACTIVITY, chipsOf(filter), { now }) };
}

/** The address of the changes, with another condition or another page. */
export function activityPath(
  filter: Partial<ActivityFilter>,
  change: Readonly<Partial<ActivityFilter> & { after?: string; before?: string }> = {},
): string {
  const { at = null, ...rest } = { ...filter, ...change };
  return `/activity${toSearch({ ...rest, at: at === null ? null : TIMES.format(at) })}`;
}

/** The changes of one object in a span of time, to the second. */
export function changesPath(target: string | null, span: { from: number; to: number }): string {
  const at = { from: boundAt(span.from), to: boundAt(Math.ceil(span.to / 1000) * 1000) };
  return activityPath({ target, at });
}
