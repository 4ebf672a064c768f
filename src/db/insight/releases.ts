import type { Database, Statement } from '../connection/database.ts';

/** A release of Jobferry that began to run on this database (docs/decisions/0054). The heartbeat records it. */
export interface ReleaseRun {
  version: string;
  /** The release that ran before; null if it is not known. */
  before: string | null;
  /** The first heartbeat of its first process. */
  at: Date;
}

// Processes of one release that start in the same moment may have recorded it twice.
const RELEASES: Statement = {
  name: 'release-runs',
  text: `
    select version, before, began_at as at
      from (select version, began_at, lag(version) over (order by began_at, version) as before from release_run) run
     where version is distinct from before
     order by began_at desc, version desc`,
};

/** @returns the releases that began to run, newest first */
export function releaseRuns(db: Pick<Database, 'query'>): Promise<ReleaseRun[]> {
  return db.query<ReleaseRun & Record<string, unknown>>(RELEASES, []);
}
