import { deadPath, queuePath } from '../../../../query/filter/links.ts';
import './queue-table.css';
import { memo, type ReactNode } from 'preact/compat';
import { Link } from 'wouter-preact';
import { NONE, number } from '../../../../query/words/format.ts';
import { useComparison } from '../../../parts/compare-choice.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Status } from '../../../parts/status.tsx';
import { Table, unseen } from '../../../parts/table.tsx';
import { TickAll, TickCell, useOnTick, useTickKeys } from '../../../parts/tick.tsx';
import type { Ticks } from '../../../parts/use-ticks.ts';
import { CONDITIONS } from '../model/condition-words.ts';
import { type Condition, openJobs } from '../model/queue-condition.ts';
import { type DeadCounts, failedShare, oldestDue, waitFigure } from '../model/queue-row.ts';
import { sparkSentence, sparkThen } from '../model/spark.ts';
import { outcomeOf, type Point, recentWait, type Span } from '../model/timeline.ts';
import type { QueueOfPage } from '../operations/queues.ts';
import { DepthBar } from '../parts/depth-bar.tsx';
import { Slots } from '../parts/slots.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { useFavourites } from '../parts/star.tsx';
import type { ListedQueue } from './use-queues.ts';

interface TableData {
  states: readonly ListedQueue[];
  span: Span;
  /** Undefined until they are loaded. */
  timelines: ReadonlyMap<string, readonly Point[]> | undefined;
  /** Those of an earlier time; undefined without a comparison, too. */
  then: ReadonlyMap<string, readonly Point[]> | undefined;
  deaths: DeadCounts | undefined;
  /** Left out where nothing is done with several queues. */
  ticks?: Ticks | undefined;
}

/** All queues of a page. Every number changes in place. */
export function QueueTable({
  states,
  span,
  timelines,
  then,
  deaths,
  ticks,
  labelledBy,
}: TableData & { labelledBy: string }) {
  const favourites = useFavourites();
  const ids = states.map(({ queue }) => queue.id);
  const columns = columnsOf(span);
  const onTick = useOnTick(ticks, ids);
  useTickKeys(ticks, ids, 'queue');
  const longest = Math.max(1, ...states.map(({ queue }) => openJobs(queue)));
  return (
    <div className="queues">
      <Table
        className={`cards fixed${ticks === undefined ? '' : ' tickable'}`}
        labelledBy={labelledBy}
        columns={ticks === undefined ? columns : [[<TickAll key="tick" ticks={ticks} ids={ids} />, 'c0'], ...columns]}
      >
        {states.map(({ queue, condition }) => (
          <Row
            key={queue.id}
            queue={queue}
            condition={condition}
            longest={longest}
            span={span}
            timeline={timelines?.get(queue.id)}
            then={then?.get(queue.id)}
            dead={deaths === undefined ? null : (deaths.byQueue.get(queue.id) ?? 0)}
            isDeadExact={deaths?.isExact ?? true}
            isFavourite={favourites.includes(queue.name)}
            isTicked={ticks?.ids.has(queue.id) ?? null}
            onTick={onTick}
          />
        ))}
      </Table>
    </div>
  );
}

const columnsOf = (span: Span) => [
  'Queue',
  { label: 'State', className: 'state', sort: 'other' as const },
  ['Open', 'n open'] as const,
  unseen('Open jobs by state; the length grows with the logarithm of their number', 'bar'),
  ['Oldest due', 'n oldest'] as const,
  ['In flight', 'slots-of'] as const,
  [`Attempts, ${span.label}`, 'spark-of'] as const,
  { label: 'Failed', className: 'n failed-of', title: `Of the attempts of ${span.label}` },
  {
    label: 'Wait p95',
    className: 'n wait',
    title: `From due to delivery: the newest of ${span.label}`,
  },
  { label: 'Dead letters', className: 'n dead-of', title: 'Not replayed' },
];

interface RowProps {
  queue: QueueOfPage;
  condition: Condition;
  longest: number;
  span: Span;
  timeline: readonly Point[] | undefined;
  then: readonly Point[] | undefined;
  dead: number | null;
  isDeadExact: boolean;
  isFavourite: boolean;
  /** Null without a box. */
  isTicked: boolean | null;
  onTick: (id: string, isRange: boolean) => void;
}

const Row = memo(function Row({ queue, condition, longest, span, timeline, dead, isDeadExact, ...rest }: RowProps) {
  const open = openJobs(queue);
  const oldest = oldestDue(queue);
  const failed = failedShare(outcomeOf(timeline ?? []));
  const wait = waitFigure(recentWait(timeline ?? []));
  const isFull = (queue.inFlight ?? 0) >= queue.concurrency && condition === 'behind';
  return (
    <tr data-row={queue.id} className={rest.isTicked === true ? 'on' : undefined}>
      {rest.isTicked !== null && (
        <TickCell id={queue.id} isTicked={rest.isTicked} onTick={rest.onTick} label={`Select ${queue.name}`} />
      )}
      <td className="c1 first">
        <span>
          {rest.isFavourite && (
            <>
              <Icon name="star" className="filled" />
              <span className="sr">Favourite</span>
            </>
          )}
          <Link className="name rowlink cut" href={queuePath(queue.name)} title={queue.name}>
            {queue.name}
          </Link>
          {queue.mode === 'ACK' && <span className="tag">ack</span>}
          {queue.tags.length > 0 && <small className="q3 cut">{queue.tags.join(' ')}</small>}
        </span>
      </td>
      <td className="c3">
        <Status word={CONDITIONS[condition]} />
      </td>
      <td className="n c2">
        <span className={open === 0 ? 'q3' : ''}>{number(open)}</span>
        <span className="unit"> open</span>
      </td>
      <td className="bar">{queue.depth !== null && open > 0 && <DepthBar depth={queue.depth} longest={longest} />}</td>
      <td className={`n c4 oldest ${oldest.text === NONE ? 'none' : oldest.worry}`}>
        {oldest.text}
        {oldest.text !== NONE && <span className="unit"> oldest due</span>}
      </td>
      <td className="slots-of">
        <Slots inFlight={queue.inFlight ?? 0} concurrency={queue.concurrency} isTrouble={isFull} />
      </td>
      <td className="spark-of">
        {timeline !== undefined && <Spark timeline={timeline} then={rest.then} span={span} />}
      </td>
      <td className={`n failed-of ${failed.worry}`}>{failed.text}</td>
      <td className={`n wait ${wait.worry}`}>{wait.text}</td>
      <td className="n dead-of">
        <DeadCount name={queue.name} count={dead} isExact={isDeadExact} />
      </td>
    </tr>
  );
});

/** The attempts of a queue over time, or of several together. */
export const Spark = memo(function Spark({
  timeline,
  then,
  span,
}: Pick<RowProps, 'then' | 'span'> & { timeline: readonly Point[] }) {
  const comparison = useComparison();
  const ghost = then && comparison && sparkThen(timeline, then, comparison);
  const bars = timeline.map(({ success, failed, nacked, deferred, changed }) => ({
    work: success,
    failed: failed + nacked,
    deferred,
    isMarked: (changed ?? 0) > 0,
  }));
  return (
    <Sparkline
      bars={bars}
      ghost={ghost?.values}
      label={`${sparkSentence(timeline, span.label)} ${ghost?.sentence ?? ''}`.trim()}
    />
  );
});

function DeadCount({ name, count, isExact }: { name: string; count: number | null; isExact: boolean }): ReactNode {
  if (count === null) return null;
  if (count === 0) return <span className="q3">{isExact ? '0' : NONE}</span>;
  const text = isExact ? number(count) : `${number(count)}+`;
  return (
    <Link className="link count" href={deadPath(name)}>
      {text}
      <span className="sr"> dead letters of {name}</span>
    </Link>
  );
}
