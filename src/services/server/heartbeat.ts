import type { Database, DatabaseLog } from '../../db/connection/database.ts';
import {
  type InstanceIdentity,
  type InstanceReport,
  removeInstance,
  reportInstance,
} from '../../db/insight/instances.ts';
import { repeat } from '../../pacing/repeat.ts';

/** Dashboards show a process within this time, and no longer five minutes after its last report. */
const EVERY_MS = 5000;

/**
 * Reports this process and what it does in the table of instances.
 * @returns stops that, and removes the process from the table
 */
export function startHeartbeat(
  db: Database,
  log: DatabaseLog,
  report: () => InstanceReport,
  everyMs = EVERY_MS,
): () => Promise<void> {
  let identity: InstanceIdentity | null = null;
  const stop = repeat(everyMs, log, 'the heartbeat for dashboards', async () => {
    identity = await reportInstance(db, identity, report());
  });
  return async () => {
    // A report that is running would bring the row back.
    await stop();
    if (identity === null) return;
    await removeInstance(db, identity.id).catch((error: unknown) => {
      log.warn({ err: error }, 'this process could not be removed from the table of instances');
    });
  };
}
