import type { DatedJobs, FutureJobs } from '../../domain/doctor-clock.ts';
import type { Database } from '../connection/database.ts';

/**
 * Returns the jobs that wait, or await a report, until a time that the database's clock set while it was ahead. Later
 * it went back, and they wait until it is that late again.
 */
export async function futureJobs(db: Database): Promise<FutureJobs> {
  const rows = await db.query<DatedJobs & { status: string }>(
    'select status, count(*)::integer as jobs, max(waits_until) as until from jobferry_dated_ahead() group by 1',
  );
  const inStatus = (status: string) => {
    const row = rows.find((one) => one.status === status);
    return row === undefined ? null : { jobs: row.jobs, until: row.until };
  };
  return { waiting: inStatus('pending'), reports: inStatus('awaiting_ack') };
}
