import { counts } from '../../counts/counts.ts';
import { isClockTrusted } from '../../db/connection/clock-watch.ts';
import type { Database } from '../../db/connection/database.ts';
import { type Settlement, settle, settleLost, settleOverdue } from '../../db/delivery/settle.ts';
import {
  jobsOfWorkers,
  jobsPastLifetime,
  overdueJobs,
  pendingJobs,
  type StoredJob,
} from '../../db/delivery/stored-job.ts';
import { nextDeadlineMs } from '../../db/delivery/wake-ups.ts';
import { sweepDeadLetters } from '../../db/retention/sweep.ts';
import { isUnavailable } from '../../domain/errors.ts';
import { type JobEvent, transition } from '../../domain/transition.ts';
import { type ChangeFeed, NO_CHANGES } from '../../live/live.ts';

/**
 * Settles jobs whose deadline has passed, whose worker has died, whose lifetime has ended, or whose queue was deleted.
 * Every function works in batches and may run in several processes at once. It returns the ids of the queues that it
 * changed, because they may have a free slot now.
 */

const BATCH = 500;

/**
 * Expires the passed leases and ack deadlines of a queue.
 * @returns `nextMs`: milliseconds until its next deadline; null when there is none
 */
export async function expireDeadlines(
  db: Database,
  queueId: string,
  changes: ChangeFeed = NO_CHANGES,
): Promise<{ queues: Set<string>; nextMs: number | null }> {
  const queues = await inBatches(db, changes, {
    next: () => overdueJobs(db, queueId, BATCH),
    eventFor: (job) => (job.state.status === 'processing' ? { type: 'interrupted' } : { type: 'ack_timed_out' }),
    write: settleOverdue,
    interruption: 'expired_lease',
  });
  return { queues, nextMs: await nextDeadlineMs(db, queueId) };
}

/** Takes back the claims of dead workers. Applies only if the server has the lease lock of `self`, and not theirs. */
export async function takeBack(
  db: Database,
  workerIds: number[],
  self: number,
  changes: ChangeFeed = NO_CHANGES,
): Promise<Set<string>> {
  return inBatches(db, changes, {
    next: () => jobsOfWorkers(db, workerIds, BATCH),
    eventFor: () => ({ type: 'interrupted' }),
    write: (_db, settlements) => settleLost(db, self, settlements),
    interruption: 'dead_worker',
  });
}

/**
 * Ends the pending jobs of the queues whose delivery lifetime is over (D8).
 * @param goesOn called before each further batch; false stops
 */
export async function endLifetimes(
  db: Database,
  changes: ChangeFeed,
  queueIds: readonly string[],
  goesOn: () => boolean = () => true,
): Promise<Set<string>> {
  if (!isClockTrusted(db)) return new Set();
  return inBatches(db, changes, {
    next: () => jobsPastLifetime(db, queueIds, BATCH),
    eventFor: () => ({ type: 'lifetime_ended' }),
    goesOn,
  });
}

/** Ends the pending jobs of a deleted queue, and deletes its dead letters (D17). */
export async function emptyDeletedQueue(
  db: Database,
  queueId: string,
  changes: ChangeFeed = NO_CHANGES,
): Promise<void> {
  await inBatches(db, changes, {
    next: () => pendingJobs(db, queueId, BATCH),
    eventFor: () => ({ type: 'queue_deleted' }),
  });
  while (await sweepDeadLetters(db, queueId)) {
    // Batch by batch, so that no statement takes long.
  }
}

type Write = (db: Database, settlements: Settlement[]) => Promise<Set<string>>;

/** Writes all in one statement, or one by one if that fails: one that cannot be written must not stop the others. */
async function writeEach(db: Database, settlements: Settlement[], write: Write): Promise<Set<string>> {
  if (settlements.length === 0) return new Set();
  try {
    return await write(db, settlements);
  } catch (error) {
    if (settlements.length === 1) throw error;
  }
  const applied = new Set<string>();
  for (const settlement of settlements) {
    try {
      for (const id of await write(db, [settlement])) applied.add(id);
    } catch (error) {
      // The database is unavailable, so the others would fail as well.
      if (isUnavailable(error)) throw error;
      db.log.warn({ err: error, jobId: settlement.id }, 'a job cannot be settled');
    }
  }
  return applied;
}

interface Recovery {
  next: () => Promise<StoredJob[]>;
  eventFor: (job: StoredJob) => JobEvent;
  write?: Write;
  /** Called before each further batch; false stops. */
  goesOn?: () => boolean;
  /** Why claims are taken back, for the metrics. */
  interruption?: 'dead_worker' | 'expired_lease';
}

async function inBatches(
  db: Database,
  changes: ChangeFeed,
  { next, eventFor, write = settle, goesOn = () => true, interruption }: Recovery,
): Promise<Set<string>> {
  const touched = new Set<string>();
  for (;;) {
    const jobs = await next();
    const decided = jobs.flatMap((job) => {
      const event = eventFor(job);
      const result = transition(job.state, job.rules, event, { now: job.now, random: Math.random() });
      return result === null ? [] : [{ job, event, transition: result }];
    });
    const settlements = decided.map(({ job, transition: result }): Settlement => {
      return { id: job.id, expected: job.state.status, token: job.token, transition: result, answer: null };
    });
    const applied = await writeEach(db, settlements, write);
    for (const { job, event, transition: result } of decided) {
      const { id: jobId, accountId, queueId } = job;
      if (!applied.has(jobId)) continue;
      touched.add(queueId);
      changes.changed({ accountId, queueId, jobId });
      counts.settled(queueId, result);
      if (event.type === 'interrupted' && interruption !== undefined) counts.takebacks.add(interruption);
    }
    // If nothing was applied, another process is settling these jobs; reading them again could loop for ever.
    if (jobs.length < BATCH || applied.size === 0 || !goesOn()) return touched;
  }
}
