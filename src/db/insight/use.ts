import type { WaitingQueue } from '../../domain/waiting.ts';
import type { PartOfStatement } from './queue-parts.ts';

/** SQL: the in-flight count and the present rate window of the queue `q` at `clock.now`. Needs `IN_FLIGHT_OF_Q`. */
export const USE_OF_Q = `
  in_flight.n as in_flight, in_flight.awaiting as slots_awaiting,
  q.rate_limit_max,
  coalesce(jobferry_rate_used(q.id, (jobferry_rate_window(q.rate_limit_window, clock.now)).starts), 0) as rate_used,
  (jobferry_rate_window(q.rate_limit_window, clock.now)).ends as rate_resets_at`;

/** SQL: a join that counts the jobs in flight of the queue `q`. */
export const IN_FLIGHT_OF_Q = `
  cross join lateral (
    select count(*) as n, count(*) filter (where f.status = 'awaiting_ack') as awaiting
      from job f where f.queue_id = q.id and f.status in ('processing', 'awaiting_ack')) in_flight`;

// The jobs of a hold are looked up for their ids: a job that has been removed is not named.
export const USE: PartOfStatement = {
  join: () => `
    cross join lateral (
      select ${USE_OF_Q}, (select h.id from job h where h.id = q.hold_job_id) as asked_by,
             (select p.id from job p where p.id = q.probe_job_id) as probe
        from clock cross join queue q ${IN_FLIGHT_OF_Q} where q.id = own.id offset 0) used`,
  columns: 'used.*',
};

export interface UseColumns {
  in_flight: number;
  /** Jobs in flight that await a report. */
  slots_awaiting: number;
  rate_limit_max: number | null;
  rate_used: number;
  rate_resets_at: Date;
}

/** The columns of the part. */
export interface UseRow extends UseColumns {
  asked_by: string | null;
  probe: string | null;
}

export function toUse(row: UseColumns): Pick<WaitingQueue, 'inFlight' | 'awaitingAck' | 'rate'> {
  const max = row.rate_limit_max;
  return {
    inFlight: row.in_flight,
    awaitingAck: row.slots_awaiting,
    rate: max === null ? null : { used: row.rate_used, max, resetsAt: row.rate_resets_at },
  };
}
