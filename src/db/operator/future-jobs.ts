import type { FutureJobs } from '../../domain/doctor-clock.ts';
import type { Database } from '../connection/database.ts';

/**
 * Returns the jobs that wait because they were published, or tried, while the database's clock was ahead. Later it went back, and
 * they wait until it is that late again.
 */
export async function futureJobs(db: Database): Promise<FutureJobs> {
  const row = await db.one<{ jobs: number; until: Date | null }>(
    'select jobs, waits_until as until from jobferry_future_jobs()',
  );
  return row ?? { jobs: 0, until: null };
}
