import '../../../parts/filter/filter-box.css';
import { useQuery } from '@tanstack/preact-query';
import { Link } from 'wouter-preact';
import { toJobFilter } from '../../../../query/filter/jobs.ts';
import { createdIn, jobsOfQueue, jobsPath } from '../../../../query/filter/links.ts';
import { count } from '../../../../query/words/format.ts';
import { keepOld, query } from '../../../api/query.ts';
import { useView } from '../../../base/time.ts';
import type { Span } from '../../../parts/chart/geometry.ts';
import { Icon } from '../../../parts/icon.tsx';
import { spanOf as textOfSpan } from '../model/queue-texts.ts';
import { JobsOfSpan } from '../operations/queue.ts';

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
        {data === undefined ? 'Jobs' : `${count(Math.min(data.count.count, MOST_COUNTED), data.count.exact)} jobs`} in
        this period
      </Link>
    </>
  );
}
