import type { Database, DatabaseLog } from '../../db/connection/database.ts';
import {
  type InstanceIdentity,
  type InstanceReport,
  removeInstance,
  reportInstance,
} from '../../db/insight/instances.ts';
import { repeat } from '../../pacing/repeat.ts';

/** Dashboards show a process within this time, and stop showing it five minutes after its last report. */
const EVERY_MS = 5000;

/**
 * Writes the heartbeat of this process into the table of instances.
 * @returns a function that stops the heartbeat and removes the row
 */
export function startHeartbeat(
  db: Database,
  log: DatabaseLog,
  report: () => InstanceReport,
  everyMs = EVERY_MS,
): () => Promise<void> {
  let identity: InstanceIdentity | null = null;
  const reports = repeat(everyMs, log, 'the heartbeat for dashboards', async () => {
    identity = await reportInstance(db, identity, report());
  });
  return async () => {
    // A report that is still running would write the row again.
    await reports.stop();
    if (identity === null) return;
    await removeInstance(db, identity.id).catch((error: unknown) => {
      log.warn({ err: error }, 'this process could not be removed from the table of instances');
    });
  };
}
