import { chipsOf, toApi } from './engine.ts';
import { choice, FIELD } from './kinds.ts';
import { toSearch } from './search.ts';
import type { Fields, Table } from './table.ts';

export const SINCE = {
  '1h': { label: 'the last hour', ms: 3_600_000 },
  '1d': { label: 'the last 24 hours', ms: 86_400_000 },
  '7d': { label: 'the last 7 days', ms: 7 * 86_400_000 },
} as const;

/** The fields of the list of changes. */
export const ACTIVITY = {
  name: 'Changes',
  words: {
    action: { kind: FIELD, api: 'action' },
    // The id of what was changed.
    target: { kind: FIELD, api: 'targetId' },
    actor: { kind: FIELD, api: 'actor' },
    since: {
      kind: choice(SINCE),
      api: (name: keyof typeof SINCE, { now }) => ({ at: { from: new Date(now - SINCE[name].ms).toISOString() } }),
    },
  },
} as const satisfies Table;

export type ActivityFilter = Fields<typeof ACTIVITY>;

export const toChanges = (filter: ActivityFilter, now: number) => toApi(ACTIVITY, chipsOf(filter), { now });

/** The address of the changes, with another condition or another page. */
export function activityPath(filter: ActivityFilter, change: Readonly<Record<string, string | null>> = {}): string {
  return `/activity${toSearch({ ...filter, ...change })}`;
}
