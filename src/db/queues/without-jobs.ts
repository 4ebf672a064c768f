/**
 * Makes the condition that a queue has no job. It looks for the first one in the order of the index: with "not exists"
 * the planner reads all jobs for each queue.
 * @param queueId SQL expression of the id of the queue
 */
export function hasNoJob(queueId: string): string {
  return `(select j.id from job j where (j.queue_id, j.id) >= (${queueId}, '') and (j.queue_id, j.id) < (${queueId}, 'g')
            order by j.queue_id, j.id limit 1) is null`;
}
