import '../../../parts/filter/filter-box.css';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { keepOld, query } from '../../../api/query.ts';
import { serverNow } from '../../../base/clock.ts';
import { useView } from '../../../base/time.ts';
import { toJobFilter } from '../../../filter/jobs.ts';
import { attemptsPath, createdIn, jobsOfQueue, jobsPath } from '../../../filter/links.ts';
import { boundAt, isTimeBound, resolveBound } from '../../../filter/time-bound.ts';
import { Chart } from '../../../parts/chart/chart.tsx';
import type { Span } from '../../../parts/chart/geometry.ts';
import { Icon } from '../../../parts/icon.tsx';
import { count, number, took } from '../../../words/format.ts';
import { type Flow, spanOf as textOfSpan } from '../model/queue-condition.ts';
import {
  type QueueCharts as Charts,
  chartRate,
  rateUnit,
  type Values,
  WINDOWS,
  type WindowName,
  windowOf,
} from '../model/queue-timeline.ts';
import { JobsOfSpan } from '../operations/queue.ts';
import type { useQueue } from './use-queue.ts';

const NOTHING = 'No delivery ended in this time.';

/** The charts: jobs in and out, outcomes, durations and lateness. The window and the span are in the URL. */
export default function QueueCharts({
  name,
  page: { asked, flow, charts, bucketMs },
}: {
  name: string;
  page: ReturnType<typeof useQueue>;
}) {
  const [params, setParams] = useSearchParams();
  const window = windowOf(params.get('window')).name;
  const span = spanOf(params);
  const setSpan = (next: Span | null) => {
    setParams(
      (old) => {
        const changed = new URLSearchParams(old);
        for (const edge of ['from', 'to'] as const) {
          if (next === null) changed.delete(edge);
          else changed.set(edge, boundAt(next[edge]));
        }
        return changed;
      },
      { replace: true },
    );
  };
  if (charts === null) return null;
  return (
    <div className={asked.isPlaceholderData ? 'aging' : undefined}>
      <section className="sec">
        <FlowChart {...{ name, charts, bucketMs, flow, window, span, setSpan }} />
      </section>
      <div className="cols small-charts">
        <Outcomes charts={charts} bucketMs={bucketMs} />
        <Percentiles
          title="How long a delivery takes"
          of={charts.duration}
          end={
            <Link className="link small" href={attemptsPath({ queue: name })}>
              Slowest
            </Link>
          }
          {...{ charts, bucketMs }}
        />
        <Percentiles title="How late a delivery begins" of={charts.wait} {...{ charts, bucketMs }} />
      </div>
    </div>
  );
}

/** The span of `?from` and `?to`; null if they are none. */
function spanOf(params: URLSearchParams): Span | null {
  const [from, to] = [params.get('from') ?? '', params.get('to') ?? ''];
  if (!isTimeBound(from) || !isTimeBound(to)) return null;
  const span = { from: resolveBound(from, 'from', serverNow()), to: resolveBound(to, 'to', serverNow()) };
  return span.from < span.to ? span : null;
}

function FlowChart({
  name,
  charts: { times, published, accepted, failed, putOff },
  bucketMs,
  flow,
  window,
  span,
  setSpan,
}: {
  name: string;
  charts: Charts;
  bucketMs: number;
  flow: Flow;
  window: WindowName;
  span: Span | null;
  setSpan: (span: Span | null) => void;
}) {
  const { word, shownIn } = rateUnit([...published, ...accepted, ...failed, ...putOff]);
  const last = (values: Values) => chartRate(shownIn(values).findLast((value) => value !== null) ?? 0);
  // Grey is ordinary. What comes in is amber while more of it comes in than goes out.
  const grows = flow.in !== null && flow.out !== null && flow.in > flow.out * 1.05;
  const colour = grows ? '--warn-mark' : '--ink-3';
  return (
    <Chart
      title={`In and out, a ${word}`}
      sentence={`In the newest ${took(bucketMs)}: published ${last(published)}, accepted ${last(accepted)}, failed ${last(failed)}, put off ${last(putOff)} a ${word}.`}
      times={times}
      bucketMs={bucketMs}
      unit="number"
      format={chartRate}
      series={[
        { label: 'published', colour, isDashed: true, width: 2, values: shownIn(published) },
        { label: 'accepted', colour: '--run-mark', width: 2, values: shownIn(accepted) },
        { label: 'failed', colour: '--bad-mark', hidesZero: true, values: shownIn(failed) },
        { label: 'put off', colour: '--hold-mark', isDashed: true, hidesZero: true, values: shownIn(putOff) },
      ]}
      bands={[{ upper: 0, lower: 1, colour: '--warn-mark' }]}
      brush={{ span, onChange: setSpan }}
      end={
        <>
          {span !== null && <SpanChip name={name} span={span} onClear={() => setSpan(null)} />}
          <nav className="seg" aria-label="Span of the charts">
            {WINDOWS.map((one) => (
              <WindowLink key={one.name} window={one} isCurrent={one.name === window} />
            ))}
          </nav>
        </>
      }
    />
  );
}

function WindowLink({ window: { name, label }, isCurrent }: { window: (typeof WINDOWS)[number]; isCurrent: boolean }) {
  const [path] = useLocation();
  return (
    <Link href={`${path}?window=${name}`} replace aria-current={isCurrent ? 'true' : undefined}>
      {label}
    </Link>
  );
}

/** Counting stops here. */
const MOST_COUNTED = 10_000;

function SpanChip({ name, span, onClear }: { name: string; span: Span; onClear: () => void }) {
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

function Outcomes({ charts: { times, outcomes }, bucketMs }: { charts: Charts; bucketMs: number }) {
  const sum = (values: Values) => number(values.reduce<number>((all, value) => all + (value ?? 0), 0));
  const { success, failed, nacked, deferred } = outcomes;
  const hasAny = Object.values(outcomes).some((values) => values.some((value) => value !== 0));
  const none = success.map(() => null);
  const series = [
    { label: 'success', colour: '--work-strong', values: hasAny ? success : none },
    { label: 'failed', colour: '--bad-mark', hidesZero: true, values: failed },
    { label: 'nacked', colour: '--bad-mark', isDashed: true, hidesZero: true, values: nacked },
    { label: 'deferred', colour: '--hold-mark', isDashed: true, hidesZero: true, values: deferred },
  ].filter(({ label, values }) => label === 'success' || values.some((value) => value !== 0));
  return (
    <Chart
      title={`Attempts in ${took(bucketMs)}`}
      sentence={`In this time ${sum(success)} attempts succeeded, ${sum(failed)} failed, ${sum(nacked)} were nacked and ${sum(deferred)} were deferred.`}
      unit="number"
      format={(value) => number(Math.round(value))}
      heightRem={7.5}
      empty={NOTHING}
      {...{ times, bucketMs, series }}
    />
  );
}

function Percentiles({
  title,
  of: { p50, p95, p99 },
  charts: { times },
  bucketMs,
  end,
}: {
  title: string;
  of: Charts['duration'];
  end?: ReactNode;
  charts: Charts;
  bucketMs: number;
}) {
  const isEmpty = [p50, p95, p99].every((values) => values.every((value) => value === null));
  const last = (values: Values) => took(values.findLast((value) => value !== null) ?? 0);
  return (
    <Chart
      title={title}
      sentence={
        isEmpty
          ? NOTHING
          : `Of the newest ${took(bucketMs)} with a delivery: half of them at most ${last(p50)}, 95 of 100 at most ${last(p95)}, 99 of 100 at most ${last(p99)}.`
      }
      unit="duration"
      format={took}
      heightRem={7.5}
      empty={NOTHING}
      series={[
        { label: 'p50', colour: '--work-strong', isDashed: true, width: 1.25, values: p50 },
        { label: 'p95', colour: '--ink-2', values: p95 },
        { label: 'p99', colour: '--work-strong', width: 1.25, values: p99 },
      ]}
      {...{ times, bucketMs, end }}
    />
  );
}
