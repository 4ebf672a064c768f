import type { Database } from '../../db/database.ts';
import {
  SWEEP_START,
  type SweepPosition,
  sweepAudit,
  sweepBulkActions,
  sweepRetention,
  sweepStatistics,
} from '../../db/sweep.ts';
import type { Logger } from '../../log.ts';
import type { Task } from './index.ts';

export const RETENTION_TASK = 'retention';

/**
 * Removes what is past retention, then asks for itself again. One keyed row serves all processes,
 * so the sweep runs in one of them at a time.
 */
export function createRetentionTask(
  db: Database,
  log: Logger,
  periods: { retentionMs: number; sweepMs: number },
): Task {
  return async (_payload, helpers) => {
    try {
      // Batch after batch, so that nobody waits long for a lock.
      let position: SweepPosition | null = SWEEP_START;
      while (position !== null) position = await sweepRetention(db, periods.retentionMs, position);
      while (await sweepStatistics(db, periods.retentionMs)) {
        // The same.
      }
      while (await sweepAudit(db)) {
        // The same.
      }
      while (await sweepBulkActions(db)) {
        // The same.
      }
    } catch (error) {
      log.warn({ err: error }, 'the retention sweep failed, and runs again at its next time');
    }
    await helpers.addJob(RETENTION_TASK, {}, { jobKey: RETENTION_TASK, runAt: new Date(Date.now() + periods.sweepMs) });
  };
}
