import type { FutureJobs } from '../../domain/doctor-clock.ts';
import type { Database, Statement } from '../connection/database.ts';

// Read by the newest ids, and by the index of the times of attempts. Clocks of machines may differ by less than a minute.
const FUTURE: Statement = {
  name: 'future-jobs',
  text: `
    with clock as materialized (select jobferry_now() + interval '1 min' as at)
    select count(*)::integer as jobs, max(j.scheduled_for) as until
      from job j
     where j.status = 'pending' and j.scheduled_for > (select at from clock)
       and j.id in (
         select id from job where id >= (select jobferry_first_id(at) from clock)
         union
         select job_id from attempt where "timestamp" > (select at from clock))`,
};

/**
 * Returns the jobs that wait because they were published, or tried, while the database's clock was ahead. Later it went back, and
 * they wait until it is that late again.
 */
export async function futureJobs(db: Database): Promise<FutureJobs> {
  return (await db.one<FutureJobs & Record<string, unknown>>(FUTURE)) ?? { jobs: 0, until: null };
}
