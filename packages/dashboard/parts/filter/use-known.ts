import { useQueries, useQuery } from '@tanstack/preact-query';
import { useMemo } from 'preact/compat';
import { hostIn, lookUpsFor, tagIn } from '../../../query/filter/look-ups.ts';
import type { Known } from '../../../query/filter/suggest.ts';
import type { Table } from '../../../query/filter/table.ts';
import { countedFor, countsOf, countVariables, FETCHED_PATHS } from '../../../query/filter/value-counts.ts';
import { likelyPaths } from '../../../query/filter/values.ts';
import { JobsCount, SearchReceivers, SuggestPaths, SuggestTags, SuggestValues } from '../../../query/schema/suggest.ts';
import { keepOld, query } from '../../api/query.ts';
import { useRights } from '../../api/rights.ts';
import { useSettled } from '../../base/use-settled.ts';
import { useFoundQueues } from '../found-queues.tsx';

const NOTHING: Known = { queues: [], paths: [], values: [] };

/** Queries the server. The old answer stays until the new one is there. */
export function useKnown(table: Table, text: string): { known: Known; isSearching: boolean } {
  const settled = useSettled(text);
  const { path, valuesOf, value, queue } = lookUpsFor(table, settled, useRights());
  // Paths that begin with the word, else the most frequent ones, in which it may be the value.
  const paths = useQuery({
    ...query(SuggestPaths, { prefix: path ?? '', first: path === '' ? FETCHED_PATHS : 8 }),
    ...keepOld,
    enabled: path !== null,
  });
  const isPath = (paths.data?.payloadPaths.length ?? 0) > 0;
  const common = useQuery({
    ...query(SuggestPaths, { prefix: '', first: FETCHED_PATHS }),
    enabled: path !== null && paths.isSuccess && !isPath,
  });
  const isExact = paths.data?.payloadPaths.some((one) => one.value === valuesOf) === true;
  const values = useQuery({
    ...query(SuggestValues, { path: valuesOf ?? '', prefix: value }),
    ...keepOld,
    enabled: valuesOf !== null && isExact,
  });
  const queues = useFoundQueues(queue ?? '', { enabled: queue !== null });
  const names = queues.queues.map(({ name }) => name).join(' ');
  const queueNames = queue === null ? [] : (names.match(/\S+/g) ?? []);
  const tag = tagIn(table, settled);
  const tags = useQuery({ ...query(SuggestTags, { search: tag ?? '' }), ...keepOld, enabled: tag !== null });
  const host = hostIn(table, settled);
  const hosts = useQuery({ ...query(SearchReceivers, { search: host ?? '' }), ...keepOld, enabled: host !== null });
  const fetched = (isPath ? paths.data : common.data)?.payloadPaths;
  const found = useMemo(() => likelyPaths(settled, fetched ?? []), [settled, fetched]);
  const chips = useMemo(() => countedFor(table, settled, found, queueNames), [table, settled, found, names]);
  const isCounted = path !== null && (path === '' || !isPath);
  const counted = useQueries({
    queries: isCounted ? chips.map((chip) => query(JobsCount, countVariables(chip))) : [],
  });
  const counts = counted.map(({ data }) => data?.count);
  const countKey = counts.map((one) => one?.count).join();
  const known = useMemo(() => {
    if (path === null && queue === null) {
      if (tag !== null) return { ...NOTHING, tags: tags.data?.queueTags ?? [] };
      return host === null ? NOTHING : { ...NOTHING, hosts: hosts.data?.receivers.map((one) => one.host) ?? [] };
    }
    return {
      queues: queueNames,
      paths: path === null ? [] : found,
      counts: countsOf(table, chips, counts),
      values: isExact ? (values.data?.payloadValues ?? []) : [],
    };
  }, [path, queue, tag, host, isExact, found, values.data, names, tags.data, hosts.data, table, chips, countKey]);
  const isAsking = [paths, common, values, queues, tags, hosts, ...counted].some(({ isFetching }) => isFetching);
  return { known, isSearching: isAsking || settled !== text.trim() };
}
