import { type QueueWait, type WaitReason, waitOfQueue } from '../../domain/waiting.ts';
import type { Statement } from '../connection/database.ts';
import { QUEUE_STATE, type QueueStateRow, toWaitingQueue } from '../insight/queues.ts';
import { IN_FLIGHT_OF_Q } from '../insight/use.ts';
import type { Values } from './payload-conditions.ts';

/** Finds pending jobs by the reason why they wait. */

/** Why each queue does not deliver its due jobs. */
export type WaitsByQueue = ReadonlyMap<string, QueueWait>;

const STATES: Statement = {
  name: 'job-search-waits',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select clock.now, ${QUEUE_STATE} from clock cross join queue q ${IN_FLIGHT_OF_Q} where q.id = any ($1::text[])`,
};

/** @param queueIds live queues of one account */
export async function waitsOfQueues(
  query: <Row extends object>(statement: Statement, values: unknown[]) => Promise<Row[]>,
  queueIds: readonly string[],
): Promise<WaitsByQueue> {
  const rows = await query<QueueStateRow & { now: Date }>(STATES, [queueIds]);
  return new Map(rows.map((row) => [row.queue_id, waitOfQueue(toWaitingQueue(row), row.now)]));
}

/** @returns SQL: whether the pending job `j` waits for one of the reasons (`domain/waiting`) */
export function waitCondition(
  reasons: readonly WaitReason[],
  waits: WaitsByQueue,
  now: number,
  values: Values,
): string {
  const queues = [...waits];
  const columns = [
    `${values.add(queues.map(([id]) => id))}::text[]`,
    `${values.add(queues.map(([, { reason }]) => reason))}::text[]`,
    `${values.add(queues.map(([, { until }]) => until?.getTime() ?? null))}::float8[]`,
  ];
  const at = (ms: string) => `to_timestamp(${ms}::float8 / 1000)::timestamptz(3)`;
  const own = `case j.wait_reason when 'backoff' then 'backoff' when 'hold' then 'held' else 'delayed' end`;
  return `coalesce((
    select case when w.until is not null and j.scheduled_for > ${at(values.add(now))} and j.scheduled_for >= ${at('w.until')}
                then ${own} else w.reason end = any (${values.add(reasons)}::text[])
      from unnest(${columns.join(', ')}) as w(queue_id, reason, until) where w.queue_id = j.queue_id), false)`;
}
