import { type ReactNode, useMemo } from 'preact/compat';
import { Link, useSearchParams } from 'wouter-preact';
import { attemptsPath, createdIn, jobsOfQueue, jobsPath } from '../../../../query/filter/links.ts';
import { boundAt, isTimeBound, resolveBound } from '../../../../query/filter/time-bound.ts';
import { count, number, took } from '../../../../query/words/format.ts';
import { serverNow } from '../../../base/clock.ts';
import { Chart } from '../../../parts/chart/chart.tsx';
import type { Span } from '../../../parts/chart/geometry.ts';
import type { Marks } from '../../../parts/chart/marks.tsx';
import type { Series } from '../../../parts/chart/plot.tsx';
import { AHEAD_MS, MissingThen, useComparison } from '../../../parts/compare-choice.tsx';
import type { Flow } from '../model/queue-condition.ts';
import {
  type QueueCharts as Charts,
  chartRate,
  type Ghost,
  ghostOf,
  newestShown,
  rateUnit,
  sumShown,
  type Values,
} from '../model/queue-timeline.ts';
import { JobsOfSpan, type QueueOfPage, QueueThen } from '../operations/queue.ts';
import { ChartChoices } from '../parts/chart-choices.tsx';
import { useMarks } from './use-changes.ts';
import type { useQueue } from './use-queue.ts';
import '../../../parts/filter/filter-box.css';
import { useQuery } from '@tanstack/preact-query';
import { toJobFilter } from '../../../../query/filter/jobs.ts';
import { useIsPaused } from '../../../api/live/live.ts';
import { keepOld, query } from '../../../api/query.ts';
import { useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { spanOf as textOfSpan } from '../model/queue-texts.ts';

/** Counting stops here. */
const MOST_COUNTED = 10_000;

/** The span that is chosen in the chart, with a link to its jobs. */
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
        {data === undefined ? 'Jobs' : `${count(Math.min(data.count.count, MOST_COUNTED), data.count.exact)} jobs`} in
        this period
      </Link>
    </>
  );
}

const NOTHING = 'No deliveries finished in this period.';

const NO_TIMES: readonly number[] = [];

/** The lines of an earlier time, and the changes: for every chart of the queue. */
interface Beside {
  bucketMs: number;
  ghost: Ghost | null;
  marks: Marks | undefined;
}

/** A line of an earlier time; none if the charts compare with nothing. */
function ghostLine(ghost: Ghost | null, what: string, values: (ghost: Ghost) => Values, change: Partial<Series> = {}) {
  return ghost === null
    ? []
    : [{ label: `${what} ${ghost.word}`, colour: '--ink-2', isGhost: true, ...change, values: values(ghost) }];
}

/**
 * The charts: jobs in and out, outcomes, durations and lateness.
 * The window, the span and the comparison are in the URL.
 */
export default function QueueCharts({
  queue,
  page: { result, flow, charts, bucketMs },
}: {
  queue: QueueOfPage;
  page: ReturnType<typeof useQueue>;
}) {
  const { name } = queue;
  const [params, setParams] = useSearchParams();
  const times = charts?.times ?? NO_TIMES;
  const ghost = useGhost(name, { times, bucketMs });
  const marks = useMarks(queue);
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
  const repeated = { bucketMs, ghost, marks: marks && { ...marks, isRepeated: true } };
  return (
    <div className={result.isPlaceholderData ? 'aging' : undefined}>
      <section className="sec">
        <FlowChart
          name={name}
          charts={charts}
          flow={flow}
          span={span}
          setSpan={setSpan}
          bucketMs={bucketMs}
          ghost={ghost}
          marks={marks}
        />
        <MissingThen from={times[0] ?? serverNow()} />
      </section>
      <div className="cols small-charts">
        <Outcomes charts={charts} {...repeated} />
        <Percentiles
          title="How long a delivery takes"
          of={charts.duration}
          then={ghost?.durationP95}
          end={
            <Link className="link small" href={attemptsPath({ queue: name })}>
              Slowest
            </Link>
          }
          charts={charts}
          {...repeated}
        />
        <Percentiles
          title="How late a delivery begins"
          of={charts.wait}
          then={ghost?.waitP95}
          charts={charts}
          {...repeated}
        />
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
  span,
  setSpan,
  ghost,
  marks,
}: Beside & {
  name: string;
  charts: Charts;
  flow: Flow;
  span: Span | null;
  setSpan: (span: Span | null) => void;
}) {
  const { word, shownIn } = rateUnit([...published, ...accepted, ...failed, ...putOff]);
  const last = (values: Values) => newestShown(shownIn(values), chartRate);
  // Grey is ordinary. What comes in is amber while more of it comes in than goes out.
  const grows = flow.in !== null && flow.out !== null && flow.in > flow.out * 1.05;
  const colour = grows ? '--warn-mark' : '--ink-3';
  return (
    <Chart
      title={`In and out, per ${word}`}
      sentence={`Newest ${took(bucketMs)}: published ${last(published)}, accepted ${last(accepted)}, failed ${last(failed)}, deferred ${last(putOff)} per ${word}${
        ghost === null ? '' : `; ${ghost.word} published ${last(ghost.published)}, accepted ${last(ghost.accepted)}`
      }.`}
      times={times}
      bucketMs={bucketMs}
      unit="number"
      format={chartRate}
      series={[
        { label: 'published', colour, isDashed: true, width: 2, values: shownIn(published) },
        { label: 'accepted', colour: '--run-mark', width: 2, values: shownIn(accepted) },
        { label: 'failed', colour: '--bad-mark', hidesZero: true, values: shownIn(failed) },
        { label: 'deferred', colour: '--hold-mark', isDashed: true, hidesZero: true, values: shownIn(putOff) },
        ...ghostLine(ghost, 'published', (of) => shownIn(of.published), { isDashed: true }),
        ...ghostLine(ghost, 'accepted', (of) => shownIn(of.accepted), { colour: '--run-mark' }),
      ]}
      marks={marks}
      bands={[{ upper: 0, lower: 1, colour: '--warn-mark' }]}
      brush={{ span, onChange: setSpan }}
      end={
        <>
          {span !== null && <SpanChip name={name} span={span} onClear={() => setSpan(null)} />}
          <ChartChoices />
        </>
      }
    />
  );
}

function Outcomes({ charts: { times, outcomes }, bucketMs, ghost, marks }: Beside & { charts: Charts }) {
  const { success, failed, nacked, deferred } = outcomes;
  const hasAny = Object.values(outcomes).some((values) => values.some((value) => value !== 0));
  const none = success.map(() => null);
  const all: Series[] = [
    { label: 'success', colour: '--work-strong', values: hasAny ? success : none },
    { label: 'failed', colour: '--bad-mark', hidesZero: true, values: failed },
    { label: 'nacked', colour: '--bad-mark', isDashed: true, hidesZero: true, values: nacked },
    { label: 'deferred', colour: '--hold-mark', isDashed: true, hidesZero: true, values: deferred },
    ...ghostLine(ghost, 'success', (of) => of.success),
  ];
  const series = all.filter(
    ({ isGhost, values }, index) => index === 0 || isGhost || values.some((value) => value !== 0),
  );
  return (
    <Chart
      title={`Attempts in ${took(bucketMs)}`}
      sentence={`${sumShown(success)} attempts succeeded, ${sumShown(failed)} failed, ${sumShown(nacked)} were nacked and ${sumShown(deferred)} were deferred${
        ghost === null ? '' : `; ${sumShown(ghost.success)} succeeded ${ghost.word}`
      }.`}
      unit="number"
      format={(value) => number(Math.round(value))}
      heightRem={7.5}
      empty={NOTHING}
      times={times}
      bucketMs={bucketMs}
      series={series}
      marks={marks}
    />
  );
}

function Percentiles({
  title,
  of: { p50, p95, p99 },
  charts: { times },
  bucketMs,
  then,
  ghost,
  marks,
  end,
}: Beside & {
  title: string;
  of: Charts['duration'];
  /** The 95th percentile of the earlier time. */
  then: Values | undefined;
  end?: ReactNode;
  charts: Charts;
}) {
  const isEmpty = [p50, p95, p99].every((values) => values.every((value) => value === null));
  const last = (values: Values) => newestShown(values, took);
  return (
    <Chart
      title={title}
      sentence={
        isEmpty
          ? NOTHING
          : `Newest ${took(bucketMs)} with a delivery: p50 ${last(p50)}, p95 ${last(p95)}, p99 ${last(p99)}${
              ghost === null ? '' : `; p95 ${ghost.word} ${last(then ?? [])}`
            }.`
      }
      unit="duration"
      format={took}
      heightRem={7.5}
      empty={NOTHING}
      series={[
        { label: 'p50', colour: '--work-strong', isDashed: true, width: 1.25, values: p50 },
        { label: 'p95', colour: '--ink-2', values: p95 },
        { label: 'p99', colour: '--work-strong', width: 1.25, values: p99 },
        ...ghostLine(ghost, 'p95', () => then ?? []),
      ]}
      times={times}
      bucketMs={bucketMs}
      marks={marks}
      end={end}
    />
  );
}

/** The lines of an earlier time for charts of these times; null without one, or before they are read. */
function useGhost(name: string, { times, bucketMs }: { times: readonly number[]; bucketMs: number }): Ghost | null {
  const isPaused = useIsPaused();
  const comparison = useComparison();
  const from = times[0] ?? serverNow();
  const shift = comparison?.ms ?? 0;
  const iso = (at: number) => new Date(at).toISOString();
  const { data } = useQuery({
    ...query(
      QueueThen,
      () => ({
        name,
        bucket: bucketMs / 1000,
        from: iso(from - shift),
        to: iso(Math.floor((serverNow() - shift + AHEAD_MS) / bucketMs) * bucketMs),
      }),
      { key: { name, bucketMs, shift, range: times.length } },
    ),
    enabled: comparison !== null && times.length > 0,
    staleTime: AHEAD_MS / 2,
    refetchInterval: isPaused ? false : AHEAD_MS / 2,
  });
  const timeline = data?.queue?.timeline;
  return useMemo(
    // Without values until they are there: the legends have their height at once.
    () => (comparison === null ? null : ghostOf(times, timeline ?? [], comparison, bucketMs)),
    [times, timeline, comparison, bucketMs],
  );
}
