import { useQueries, useQuery } from '@tanstack/preact-query';
import { formatFilter, labelOf, removeChip } from '../../../../query/filter/engine.ts';
import { JOBS, type JobsFilter } from '../../../../query/filter/jobs.ts';
import { otherPathsOf } from '../../../../query/filter/other-paths.ts';
import { MOST_PATHS } from '../../../../query/filter/values.ts';
import { JobsCount, SuggestPaths } from '../../../../query/schema/suggest.ts';
import { asSentence, count, number, visible } from '../../../../query/words/format.ts';
import { query } from '../../../api/query.ts';
import { Empty } from '../../../parts/states.tsx';
import { jobFilterOf, type ListUrl } from './list-url.ts';

/** At most so many counts are fetched. */
const MAX_TRIED = 5;

/** Nothing matches: names where the value is, and the condition without which most would. */
export default function NothingMatches({
  filter,
  url,
  hint,
  onFilter,
}: {
  filter: JobsFilter;
  url: ListUrl;
  /** Why a condition on payloads may match nothing: its path or its type never occurred. */
  hint: string | null;
  onFilter: (filter: JobsFilter) => void;
}) {
  const tries = filter.slice(0, MAX_TRIED).map((chip) => ({ chip, without: removeChip(JOBS, filter, chip) }));
  const countOf = (other: JobsFilter) =>
    query(JobsCount, () => ({ filter: jobFilterOf(other, url), max: 10_000 }), {
      key: { q: formatFilter(JOBS, other), from: url.from, to: url.to },
    });
  const counts = useQueries({ queries: tries.map(({ without }) => countOf(without)) });
  const paths = useQuery({
    ...query(SuggestPaths, { prefix: '', first: MOST_PATHS }),
    enabled: filter.some(({ word }) => word === 'payload'),
  });
  const places = otherPathsOf(filter, paths.data?.payloadPaths ?? []);
  const found = useQueries({ queries: places.map((place) => countOf(place.filter)) });
  const best = tries
    .map((one, index) => ({ ...one, found: counts[index]?.data?.count ?? { count: 0, exact: true } }))
    .reduce<{ chip: JobsFilter[number]; without: JobsFilter; found: { count: number; exact: boolean } } | null>(
      (top, one) => (one.found.count > (top?.found.count ?? 0) ? one : top),
      null,
    );
  const where = places.flatMap((place, at) => {
    const { count: n = 0, exact = true } = found[at]?.data?.count ?? {};
    return n === 0 ? [] : [{ ...place, jobs: `${count(n, exact)} ${n === 1 ? 'job' : 'jobs'}` }];
  });
  const why = (
    <>
      {hint !== null && <span>{asSentence(hint)}</span>}
      {where.map(({ value, path, jobs, filter: other }) => (
        <span key={path}>
          “{visible(value)}” is at <strong>{visible(path)}</strong> in {jobs}.{' '}
          <button type="button" className="btn tiny" onClick={() => onFilter(other)}>
            Show {jobs}
          </button>
        </span>
      ))}
    </>
  );
  if (best === null) return <Empty title="No matches.">{why}</Empty>;
  const { key, value } = labelOf(JOBS, best.chip);
  const label = `${key} ${value}`.trim();
  const others = `${best.found.exact ? '' : 'more than '}${number(best.found.count)}`;
  return (
    <Empty title="No matches.">
      {why}
      <span>
        Without <strong>{label}</strong> there {best.found.count === 1 ? 'is' : 'are'} {others}.
      </span>
      <button type="button" className="btn tiny" onClick={() => onFilter(best.without)}>
        Remove {label}
      </button>
    </Empty>
  );
}
