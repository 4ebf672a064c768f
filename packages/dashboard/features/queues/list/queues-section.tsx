import { Link } from 'wouter-preact';
import { number } from '../../../../query/words/format.ts';
import { serverNow } from '../../../base/clock.ts';
import { MissingThen } from '../../../parts/compare-choice.tsx';
import { Failure } from '../../../parts/states.tsx';
import { useCalmOrder } from '../../../parts/use-calm-order.ts';
import type { Ticks } from '../../../parts/use-ticks.ts';
import { type Span, startOf } from '../model/timeline.ts';
import { DepthLegend } from '../parts/depth-bar.tsx';
import { QueueTable } from './queue-table.tsx';
import type { ListedQueue, useTimelines } from './use-queues.ts';

/** The table with its heading, in an order that waits while it is read. */
export function QueuesSection({
  states,
  span,
  timelines: { result, bars, then, deadCounts },
  isHeld,
  rest = 0,
  title = 'All queues',
  ticks,
}: {
  states: readonly ListedQueue[];
  span: Span;
  timelines: ReturnType<typeof useTimelines>;
  isHeld: boolean;
  /** Queues that are on other pages. */
  rest?: number;
  title?: string;
  ticks?: Ticks | undefined;
}) {
  const calm = useCalmOrder(
    states.map(({ queue }) => queue.id),
    isHeld,
  );
  const byId = new Map(states.map((state) => [state.queue.id, state]));
  return (
    <section className="sec" aria-labelledby="queues-h">
      <div className="sec-head">
        <h2 id="queues-h">{title}</h2>
        <span className="small q">
          {calm.isLate ? 'The order has changed. It updates when you leave the list.' : 'Worst first'}
        </span>
        <DepthLegend className="end lo2" />
      </div>
      <Failure result={result} what="The attempts over time" />
      <QueueTable
        labelledBy="queues-h"
        states={calm.ids.flatMap((id) => byId.get(id) ?? [])}
        timelines={bars}
        then={then}
        deaths={deadCounts}
        span={span}
        ticks={ticks}
      />
      <MissingThen from={startOf(span, serverNow())} />
      {rest > 0 && (
        <div className="pager">
          <span>
            The worst {number(states.length)} of {number(states.length + rest)} queues.
          </span>
          <span className="end">
            <Link className="btn tiny" href="/queues">
              All pages
            </Link>
          </span>
        </div>
      )}
    </section>
  );
}
