import { memo } from 'preact/compat';
import { useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { JobCells } from '../../../parts/job-cells.tsx';
import { Table } from '../../../parts/table.tsx';
import { TickAll, TickCell, useOnTick } from '../../../parts/tick.tsx';
import type { Ticks } from '../../../parts/use-ticks.ts';
import { rowTextOfJob } from '../../../words/job-row.ts';
import type { ListedJob } from '../operations/jobs.ts';
import type { Order } from './list-url.ts';

interface JobsTableProps {
  rows: readonly ListedJob[];
  gone: ReadonlySet<string>;
  cursor: string | null;
  ticks: Ticks;
  order: Order;
  onOrder: (order: Order) => void;
  /** Added to the address of each job, to find the way back and the neighbours. */
  from: string;
  webhookTimeoutSeconds: number;
  isDim: boolean;
}

export function JobsTable({ rows, gone, cursor, ticks, order, onOrder, from, ...rest }: JobsTableProps) {
  const ids = rows.map(({ id }) => id);
  const onTick = useOnTick(ticks, ids);
  // To a person who may not see payloads there are none.
  const hasPayloads = rows.some(({ payloadPreview }) => payloadPreview !== null);
  return (
    <Table
      className={`cards tickable jobs-table${rest.isDim ? ' dim' : ''}`}
      columns={[
        [<TickAll key="tick" ticks={ticks} ids={ids} />, 'c0'],
        ['State', 'c1'],
        ['Job', 'c3'],
        ['Queue', 'c4'],
        ...(hasPayloads ? [['Payload', 'lo2 payload'] as const] : []),
        'Next step or reason',
        {
          label: (
            <button
              type="button"
              className="sort"
              onClick={() => onOrder(order === 'attempts' ? 'newest' : 'attempts')}
            >
              Attempts
              {order === 'attempts' && <Icon name="down" />}
            </button>
          ),
          className: 'n lo1 attempts-cell',
          sort: order === 'attempts' ? 'descending' : undefined,
        },
        {
          label: (
            <button type="button" className="sort" onClick={() => onOrder(order === 'newest' ? 'oldest' : 'newest')}>
              Published
              {SORTS[order] !== undefined && <Icon name={order === 'oldest' ? 'up' : 'down'} />}
            </button>
          ),
          className: 'n c2',
          sort: SORTS[order],
        },
      ]}
    >
      {rows.map((job) => (
        <Row
          key={job.id}
          job={job}
          hasPayload={hasPayloads}
          isGone={gone.has(job.id)}
          isCursor={job.id === cursor}
          isTicked={ticks.isAll || ticks.ids.has(job.id)}
          onTick={onTick}
          from={from}
          webhookTimeoutSeconds={rest.webhookTimeoutSeconds}
        />
      ))}
    </Table>
  );
}

const SORTS: Readonly<Partial<Record<Order, 'ascending' | 'descending'>>> = {
  newest: 'descending',
  oldest: 'ascending',
};

interface RowProps {
  job: ListedJob;
  hasPayload: boolean;
  isGone: boolean;
  isCursor: boolean;
  isTicked: boolean;
  onTick: (id: string, isRange: boolean) => void;
  from: string;
  webhookTimeoutSeconds: number;
}

/** Rendered again only when its own job or marks change: a message about one job costs one row. */
const Row = memo(function Row({ job, hasPayload, isGone, isCursor, isTicked, onTick, from, ...rest }: RowProps) {
  const classes = [isTicked ? 'on' : '', isCursor ? 'cursor' : '', isGone ? 'gone' : ''].filter(Boolean).join(' ');
  return (
    <tr className={classes === '' ? undefined : classes}>
      <TickCell id={job.id} isTicked={isTicked} onTick={onTick} label={`Select job ${job.id.slice(-5)}`} />
      <JobCells job={job} from={from} queue={job.queue.name} hasPayload={hasPayload}>
        <WhatNext job={job} webhookTimeoutSeconds={rest.webhookTimeoutSeconds} />
      </JobCells>
    </tr>
  );
});

/** Counts down once a second, on its own. */
function WhatNext({ job, webhookTimeoutSeconds }: { job: ListedJob; webhookTimeoutSeconds: number }) {
  const view = useView();
  return <>{rowTextOfJob(job, { ...view, webhookTimeoutSeconds })}</>;
}
