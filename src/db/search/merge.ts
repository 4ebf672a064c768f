import type { Values } from './payload-conditions.ts';

/** The jobs of all queues of a search in the order of their ids, without reading all of them. */

/** A merge of more queues than this takes longer to plan than to run: 0.5 s for 5000 queues. */
const MANY_QUEUES = 200;
/** The most jobs for which so many jobs of as many queues may be read. */
const FEW_JOBS = 500;

/** @returns SQL: whether a job of the queue is in the range; the arguments are the columns of its queue and its id */
export type Within = (queueId: string, id: string) => string;

/**
 * A range of ids within the queue `q`. It is a row comparison, because only an index that begins with the queue can
 * serve it: the planner does not know how few jobs are in the range, and would read those of all queues.
 */
export function withinQueue(lower: string, upper: string, isUpperIn: boolean): Within {
  return (queueId, id) =>
    `(${queueId}, ${id}) >= (q.id, ${lower}) and (${queueId}, ${id}) ${isUpperIn ? '<=' : '<'} (q.id, ${upper})`;
}

/** Which jobs are read, and how many; SQL of the ids from which (inclusive) and below which. */
interface Walk {
  queueIds: readonly string[];
  onlyDead: boolean;
  from: string;
  below: string;
  size: number;
  descending: boolean;
}

/** @returns SQL: the ids of at least the first `size` jobs in the range, in any order */
export function jobsInOrder(values: Values, walk: Walk): string {
  const isMany = walk.queueIds.length > MANY_QUEUES && walk.size <= FEW_JOBS;
  return isMany ? firstOfMany(values, walk) : mergeOfFew(values, walk);
}

/** One index scan per queue, each read only as far as the reader goes. So a queue that is far ahead costs nothing. */
function mergeOfFew(values: Values, { queueIds, onlyDead, from, below, descending }: Walk): string {
  const rest = `${dead(onlyDead)} and id >= ${from} and id < ${below} order by id ${descending ? 'desc' : 'asc'}`;
  return queueIds.map((id) => `(select id from job where queue_id = ${values.add(id)}${rest})`).join(' union all ');
}

/** The first jobs of all are among the first jobs of the queues whose first job comes first, of as many of each. */
function firstOfMany(values: Values, { queueIds, onlyDead, from, below, size, descending }: Walk): string {
  const direction = descending ? 'desc' : 'asc';
  const jobs = `
    select j.id from job j where ${withinQueue(from, below, false)('j.queue_id', 'j.id')}${dead(onlyDead)}
     order by j.queue_id ${direction}, j.id ${direction}`;
  return `
    select job.id from (
      select q.id from unnest(${values.add(queueIds)}::text[]) as q(id) cross join lateral (${jobs} limit 1) first
       order by first.id ${direction} limit ${values.add(size)}) q
     cross join lateral (${jobs} limit ${values.add(size)}) job`;
}

/** The index of dead jobs has the same order, so a walk of dead jobs need not pass the other ones. */
function dead(only: boolean): string {
  return only ? ` and status = 'dead'` : '';
}
