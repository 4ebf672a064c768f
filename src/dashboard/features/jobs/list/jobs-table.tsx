import { memo } from 'preact/compat';
import { Link } from 'wouter-preact';
import { useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { JobStatusWord } from '../../../parts/status.tsx';
import { Table } from '../../../parts/table.tsx';
import { TickAll, TickCell, useOnTick } from '../../../parts/tick.tsx';
import { Ago } from '../../../parts/time.tsx';
import type { Ticks } from '../../../parts/use-ticks.ts';
import type { JobRow } from '../../../schema/fragments.ts';
import { shortId } from '../../../words/job-id.ts';
import { rowTextOfJob } from '../../../words/job-row.ts';
import type { Order } from './list-url.ts';

export interface JobsTableProps {
  rows: readonly JobRow[];
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
  return (
    <Table
      className={`cards tickable jobs-table${rest.isDim ? ' dim' : ''}`}
      columns={[
        [<TickAll key="tick" ticks={ticks} ids={ids} />, 'c0'],
        ['State', 'c1'],
        ['Job', 'c3'],
        ['Queue', 'c4'],
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
  job: JobRow;
  isGone: boolean;
  isCursor: boolean;
  isTicked: boolean;
  onTick: (id: string, isRange: boolean) => void;
  from: string;
  webhookTimeoutSeconds: number;
}

/** Rendered again only when its own job or marks change: a message about one job costs one row. */
const Row = memo(function Row({ job, isGone, isCursor, isTicked, onTick, from, webhookTimeoutSeconds }: RowProps) {
  const classes = [isTicked ? 'on' : '', isCursor ? 'cursor' : '', isGone ? 'gone' : ''].filter(Boolean).join(' ');
  return (
    <tr className={classes === '' ? undefined : classes}>
      <TickCell id={job.id} isTicked={isTicked} onTick={onTick} label={`Select job ${job.id.slice(-5)}`} />
      <td className="c1">
        <JobStatusWord job={job} />
      </td>
      <td className="c3">
        <Link className="mono rowlink" href={`/jobs/${job.id}${from}`} data-job={job.id}>
          {shortId(job.id)}
        </Link>
      </td>
      <td className="c4">
        <span className="cut">{job.queue.name}</span>
      </td>
      <td className="c5 q">
        <WhatNext job={job} webhookTimeoutSeconds={webhookTimeoutSeconds} />
      </td>
      <td className="n lo1 attempts-cell">
        {job.attemptsMade} of {job.maxAttempts}
      </td>
      <td className="n c2 q">
        <Ago at={job.createdAt} />
      </td>
    </tr>
  );
});

/** Counts down once a second, on its own. */
function WhatNext({ job, webhookTimeoutSeconds }: { job: JobRow; webhookTimeoutSeconds: number }) {
  const view = useView();
  return <span className="cut">{rowTextOfJob(job, { ...view, webhookTimeoutSeconds })}</span>;
}
