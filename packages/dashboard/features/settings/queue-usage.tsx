import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/compat';
import type { ResultOf } from '../../../query/schema/graphql.ts';
import { many, number, percent, time } from '../../../query/words/format.ts';
import { query } from '../../api/query.ts';
import { useView } from '../../base/time.ts';
import { Failure, Skeleton } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { nameOfMonth } from './model/usage.ts';
import { UsageOfQueues } from './operations.ts';

/**
 * The attempts of a month by queue.
 * @param present the present month, YYYY-MM
 * @param past months with attempts, the newest first
 */
export function QueueUsage({ present, past }: { present: string; past: readonly string[] }) {
  const [month, setMonth] = useState(present);
  const result = useQuery(query(UsageOfQueues, { month }));
  const usage = result.data?.account.usage.byQueue;
  const months = new Set([present, ...past.slice(0, KEPT_MONTHS)]);
  return (
    <section className="sec" aria-labelledby="by-queue">
      <div className="sec-head">
        <h2 id="by-queue">By queue</h2>
        <label className="small">
          <span className="sr">Month</span>
          <select className="input" value={month} onChange={({ currentTarget }) => setMonth(currentTarget.value)}>
            {[...months].map((one) => (
              <option key={one} value={one}>
                {nameOfMonth(one)} {one.slice(0, 4)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Failure result={result} what="The usage by queue" />
      {usage === undefined ? result.isLoading && <Skeleton lines={3} /> : <Queues usage={usage} />}
    </section>
  );
}

type Usage = ResultOf<typeof UsageOfQueues>['account']['usage']['byQueue'];

function Queues({ usage: { queues, countedUntil, otherQueues, otherAttempts } }: { usage: Usage }) {
  const view = useView();
  const all = queues.reduce((sum, { attempts }) => sum + attempts, otherAttempts);
  return (
    <>
      {queues.length === 0 ? (
        <p className="q">No attempts in this month yet.</p>
      ) : (
        <Table
          labelledBy="by-queue"
          columns={[
            'Queue',
            ['Attempts', 'n'],
            ['Share', 'n'],
            ['Succeeded', 'n lo1'],
            ['Failed', 'n lo1'],
            ['Deferred', 'n lo1'],
          ]}
        >
          {queues.map(({ queueId, queueName, attempts, succeeded, failed, deferred }) => (
            <tr key={queueId}>
              <td>{queueName}</td>
              <td className="n">{number(attempts)}</td>
              <td className="n q">{percent(attempts, all)}</td>
              <td className="n lo1">{number(succeeded)}</td>
              <td className="n lo1">{number(failed)}</td>
              <td className="n lo1">{number(deferred)}</td>
            </tr>
          ))}
        </Table>
      )}
      <p className="small q">
        {otherQueues > 0 && `${many(otherQueues, 'more queue')}: ${many(otherAttempts, 'attempt')}. `}
        {countedUntil === null
          ? 'Nothing is counted yet.'
          : `Attempts finished by ${time(Date.parse(countedUntil), view)}; the figure above counts attempts started.`}
      </p>
    </>
  );
}

/** Months of queues are kept for so long. */
const KEPT_MONTHS = 13;
