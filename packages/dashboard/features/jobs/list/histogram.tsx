import { useQuery } from '@tanstack/preact-query';
import { type KeyboardEvent, useMemo, useRef, useState } from 'preact/compat';
import { isValid } from '../../../../query/filter/engine.ts';
import { type JobsFilter, toJobFilter } from '../../../../query/filter/jobs.ts';
import type { ResultOf } from '../../../../query/schema/graphql.ts';
import { minute, number } from '../../../../query/words/format.ts';
import { keepOld, query } from '../../../api/query.ts';
import { serverNow } from '../../../base/clock.ts';
import { preferences } from '../../../base/preferences.ts';
import { useStore } from '../../../base/store.ts';
import { stepPath } from '../../../parts/chart/step-path.ts';
import { AHEAD_MS, MissingThen, useComparison } from '../../../parts/compare-choice.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { pointsThen, thenText } from '../../../words/comparison.ts';
import { filterThen, histogramRange } from '../model/histogram.ts';
import { JobsHistogram } from '../operations/jobs.ts';
import type { ListUrl } from './list-url.ts';

type Point = ResultOf<typeof JobsHistogram>['jobTimeline'][number];

const HEIGHT = 56;
const WIDTH = 1152;
const TICKS = 5;

/**
 * When the matching jobs were published. Drag a range, click a bar, or press `Shift` with an arrow key: the list shows
 * that range only.
 */
export function Histogram({
  filter,
  url,
  retentionSeconds,
  onRange,
}: {
  filter: JobsFilter;
  url: ListUrl;
  /** It is null while it is not known; then nothing is read yet. */
  retentionSeconds: number | null;
  onRange: (range: { from: string; to: string } | null) => void;
}) {
  const result = useQuery({
    ...query(
      JobsHistogram,
      () => {
        const { from, to, bucketSeconds } = histogramRange(filter, serverNow(), retentionSeconds ?? 0);
        const iso = (at: number) => new Date(at).toISOString();
        return { filter: toJobFilter(filter, serverNow()), from: iso(from), to: iso(to), bucket: bucketSeconds };
      },
      { key: { q: url.q } },
    ),
    ...keepOld,
    enabled: isValid(filter) && retentionSeconds !== null,
    staleTime: 60_000,
  });
  const points = result.data?.jobTimeline;
  if (points === undefined || points.length < 2) return <div className="histogram" style={{ blockSize: '4.625rem' }} />;
  return <Bars points={points} filter={filter} url={url} onRange={onRange} />;
}

/**
 * The jobs of an earlier time in the same bars, as far as they are kept;
 * null without a comparison, or before they are read.
 */
function useThen(filter: JobsFilter, q: string, starts: readonly number[], bucketMs: number) {
  const comparison = useComparison();
  const shift = comparison?.ms ?? 0;
  const from = starts[0] ?? 0;
  const iso = (at: number) => new Date(at - shift).toISOString();
  const { data } = useQuery({
    ...query(
      JobsHistogram,
      () => ({
        filter: filterThen(toJobFilter(filter, serverNow()), shift),
        bucket: bucketMs / 1000,
        from: iso(from),
        to: iso(from + starts.length * bucketMs),
      }),
      { key: { q, shift, from, bucketMs } },
    ),
    enabled: comparison !== null && isValid(filter),
    staleTime: AHEAD_MS / 2,
  });
  if (comparison === null || data === undefined) return null;
  const values = pointsThen(starts, data.jobTimeline, comparison).map((point) =>
    point === undefined ? null : totalOf(point),
  );
  return { values, text: thenText(values, 'job', comparison) };
}

const totalOf = ({ pending, processing, awaitingAck, completed, dead }: Point) =>
  pending + processing + awaitingAck + completed + dead;

function Bars({
  points,
  filter,
  url,
  onRange,
}: {
  points: readonly Point[];
  filter: JobsFilter;
  url: ListUrl;
  onRange: (range: { from: string; to: string } | null) => void;
}) {
  const zone = useStore(preferences, (all) => all.zone);
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const starts = useMemo(() => points.map(({ at }) => Date.parse(at)), [points]);
  const bucketMs = (starts[1] ?? 0) - (starts[0] ?? 0);
  const then = useThen(filter, url.q, starts, bucketMs);
  const max = Math.max(1, ...points.map(totalOf), ...(then?.values.map(Number) ?? []));
  const scale = (HEIGHT - 6) / max;
  const width = WIDTH / points.length;
  const chosen = drag ?? bucketsOf(url, starts, bucketMs);

  const bucketAt = (event: { clientX: number }) => {
    const box = svg.current?.getBoundingClientRect();
    if (box === undefined) return 0;
    const share = (event.clientX - box.left) / box.width;
    return Math.min(points.length - 1, Math.max(0, Math.floor(share * points.length)));
  };
  const choose = (a: number, b: number) => {
    const [first, last] = [Math.min(a, b), Math.max(a, b)];
    const iso = (bucket: number) => new Date(starts[bucket] ?? 0).toISOString();
    onRange({ from: iso(first), to: new Date((starts[last] ?? 0) + bucketMs - 1).toISOString() });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const last = points.length - 1;
    const { from, to } = chosen ?? { from: last, to: last };
    const clamp = (bucket: number) => Math.min(last, Math.max(0, bucket));
    if (event.shiftKey) choose(step < 0 ? clamp(from - 1) : from, step > 0 ? clamp(to + 1) : to);
    else if (clamp(from + step) === from + step && clamp(to + step) === to + step) choose(from + step, to + step);
  };
  useCommands(
    chosen === null ? [] : [{ key: 'Escape', label: 'Show all times', run: () => onRange(null), isOnlyKey: true }],
  );

  const view = { now: serverNow(), zone };
  const ticks = Array.from({ length: TICKS }, (_, n) => {
    const at = (starts[0] ?? 0) + ((points.length * bucketMs) / (TICKS - 1)) * n;
    return minute(Math.min(at, view.now), view);
  });
  return (
    <div
      className="histogram"
      role="group"
      aria-label={`When the jobs were published: ${sentenceOf(points, starts, view)} ${then?.text ?? ''} Shift and the arrow keys choose a range.`}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <svg
        ref={svg}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag({ from: bucketAt(event), to: bucketAt(event) });
        }}
        onPointerMove={(event) => {
          if (drag !== null) setDrag({ from: drag.from, to: bucketAt(event) });
        }}
        onPointerUp={() => {
          if (drag !== null) choose(drag.from, drag.to);
          setDrag(null);
        }}
        onPointerCancel={() => setDrag(null)}
      >
        {chosen !== null && <Brush {...chosen} width={width} />}
        {points.map((point, index) => (
          <Bar key={point.at} point={point} x={index * width} width={width} scale={scale} />
        ))}
        {then !== null && (
          <path className="ghost" d={stepPath(then.values, width, (value) => HEIGHT - value * scale)} />
        )}
        <line className="base" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} vectorEffect="non-scaling-stroke" />
      </svg>
      <div className="hours">
        {ticks.map((tick, index) => (
          <span key={`${index} ${tick}`} className={index % 2 === 1 ? 'lo1' : undefined}>
            {tick}
          </span>
        ))}
      </div>
      {then !== null && then.text !== '' && <p className="small q">{then.text}</p>}
      <MissingThen from={starts[0] ?? 0} />
    </div>
  );
}

function Brush({ from, to, width }: { from: number; to: number; width: number }) {
  const [x1, x2] = [Math.min(from, to) * width, (Math.max(from, to) + 1) * width];
  return (
    <>
      <rect className="brush" x={x1} y="0" width={x2 - x1} height={HEIGHT} />
      {[x1, x2].map((x) => (
        <line key={x} className="edge" x1={x} x2={x} y1="0" y2={HEIGHT} vectorEffect="non-scaling-stroke" />
      ))}
    </>
  );
}

/** Dead at the bottom, as it must be seen; then pending; then all that needs no look. */
function Bar({ point, x, width, scale }: { point: Point; x: number; width: number; scale: number }) {
  const { dead, pending } = point;
  let y = HEIGHT;
  return [
    ['dead', dead],
    ['pending', pending],
    ['done', totalOf(point) - dead - pending],
  ].map(([part, count]) => {
    if (count === 0) return null;
    const height = Math.max(1.5, Number(count) * scale);
    y -= height;
    return <rect key={part} className={String(part)} x={x + width * 0.04} y={y} width={width * 0.92} height={height} />;
  });
}

function bucketsOf({ from, to }: ListUrl, starts: readonly number[], bucketMs: number) {
  if (from === null || to === null) return null;
  const bucket = (at: number) => Math.floor((at - (starts[0] ?? 0)) / bucketMs);
  const last = starts.length - 1;
  const [first, end] = [bucket(Date.parse(from)), bucket(Date.parse(to))];
  if (end < 0 || first > last) return null;
  return { from: Math.max(0, first), to: Math.min(last, end) };
}

function sentenceOf(points: readonly Point[], starts: readonly number[], view: { now: number; zone: 'utc' | 'local' }) {
  const sum = points.reduce((all, point) => all + totalOf(point), 0);
  const top = points.reduce(
    (best, point, index) => (totalOf(point) > totalOf(points[best] ?? point) ? index : best),
    0,
  );
  if (sum === 0) return 'None in this range.';
  return `${number(sum)} in this range, the most from ${minute(starts[top] ?? 0, view)}.`;
}
