import { useQueries } from '@tanstack/preact-query';
import { JobsCount } from '../../../api/operations/suggest.ts';
import { query } from '../../../api/query.ts';
import { formatFilter, labelOf, removeChip } from '../../../filter/engine.ts';
import { JOBS, type JobsFilter } from '../../../filter/jobs.ts';
import { Empty } from '../../../parts/states.tsx';
import { asSentence, number } from '../../../words/format.ts';
import { jobFilterOf, type ListUrl } from './list-url.ts';

/** At most so many counts are asked for. */
const MAX_TRIED = 5;

/** Nothing matches: names the condition without which most would. */
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
  const counts = useQueries({
    queries: tries.map(({ without }) => ({
      ...query(JobsCount, () => ({ filter: jobFilterOf(without, url), max: 10_000 }), {
        key: { q: formatFilter(JOBS, without), from: url.from, to: url.to },
      }),
    })),
  });
  const best = tries
    .map((one, index) => ({ ...one, found: counts[index]?.data?.count ?? { count: 0, exact: true } }))
    .reduce<{ chip: JobsFilter[number]; without: JobsFilter; found: { count: number; exact: boolean } } | null>(
      (top, one) => (one.found.count > (top?.found.count ?? 0) ? one : top),
      null,
    );
  const why = hint === null ? null : <span>{asSentence(hint)}</span>;
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
