import '../../../parts/filter/filter-box.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useSearchParams } from 'wouter';
import { keepOld, query } from '../../../api/query.ts';
import { useServer } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { toJobFilter } from '../../../filter/jobs.ts';
import { createdIn, jobsOfQueue, jobsPath } from '../../../filter/links.ts';
import { toSearch } from '../../../filter/search.ts';
import type { Span } from '../../../parts/chart/geometry.ts';
import { Icon } from '../../../parts/icon.tsx';
import { count } from '../../../words/format.ts';
import { spanOf as textOfSpan } from '../model/queue-condition.ts';
import { comparisonOf, comparisonsOffered, WINDOWS, windowOf } from '../model/queue-timeline.ts';
import { JobsOfSpan } from '../operations/queue.ts';

/** Chooses how much time the charts show, and which earlier time besides. Both are in the URL. */
export function ChartChoices() {
  const [path] = useLocation();
  const kept = useServer()?.retentionSeconds ?? 0;
  const [params] = useSearchParams();
  const [window, compare] = [windowOf(params.get('window')).name, comparisonOf(params.get('compare'))?.name ?? null];
  const to = (change: { window?: string; compare?: string | null }) =>
    `${path}${toSearch({ window: params.get('window'), compare, ...change })}`;
  return (
    <>
      <nav className="seg" aria-label="Compare with">
        {comparisonsOffered(kept, compare).map(({ name, label }) => (
          <Link
            key={name}
            href={to({ compare: name === compare ? null : name })}
            replace
            aria-current={name === compare ? 'true' : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      <nav className="seg" aria-label="Span of the charts">
        {WINDOWS.map(({ name, label }) => (
          <Link key={name} href={to({ window: name })} replace aria-current={name === window ? 'true' : undefined}>
            {label}
          </Link>
        ))}
      </nav>
    </>
  );
}

/** Counting stops here. */
const MOST_COUNTED = 10_000;

/** The span that is chosen in the chart, with a link to its jobs. */
export function SpanChip({ name, span, onClear }: { name: string; span: Span; onClear: () => void }) {
  const view = useView();
  const filter = jobsOfQueue(name, createdIn(span));
  const { data } = useQuery({ ...query(JobsOfSpan, { filter: toJobFilter(filter, 0) }), ...keepOld });
  const text = textOfSpan(span, view);
  return (
    <>
      <span className="chip">
        <span>
          <span className="k">time</span> <span className="v">{text}</span>
        </span>
        <button type="button" aria-label={`Clear the span of time, ${text}`} onClick={onClear}>
          <Icon name="x" />
        </button>
      </span>
      <Link href={jobsPath(filter)} className="btn tiny">
        {data === undefined ? 'Jobs' : `${count(Math.min(data.count.count, MOST_COUNTED), data.count.exact)} jobs`} of
        this time
      </Link>
    </>
  );
}
