import { isClockTrusted } from '../../db/connection/clock-watch.ts';
import type { Database } from '../../db/connection/database.ts';
import type { Listener } from '../../db/connection/notifications.ts';
import { type Settlement, settle, settleLost, settleOverdue } from '../../db/delivery/settle.ts';
import {
  jobsOfWorkers,
  jobsPastLifetime,
  overdueJobs,
  pendingJobs,
  queuesPastLifetime,
  type StoredJob,
  strayJobs,
} from '../../db/delivery/stored-job.ts';
import { nextDeadlineMs } from '../../db/delivery/wake-ups.ts';
import { sweepDeadLetters } from '../../db/retention/sweep.ts';
import { isUnavailable } from '../../domain/errors.ts';
import { type JobEvent, transition } from '../../domain/transition.ts';
import { type ChangeFeed, NO_CHANGES } from '../../live/live.ts';
import { counts } from '../../telemetry/counts/counts.ts';

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

/**
 * Takes back the claims of dead workers. Applies only if the server has the lease lock of `self`, and not theirs.
 * @param goesOn called before each further batch; false stops
 */
export async function takeBack(
  db: Database,
  workerIds: number[],
  self: number,
  changes: ChangeFeed = NO_CHANGES,
  goesOn: () => boolean = () => true,
): Promise<Set<string>> {
  return inBatches(db, changes, {
    next: () => jobsOfWorkers(db, workerIds, BATCH),
    eventFor: () => ({ type: 'interrupted' }),
    write: (_db, settlements) => settleLost(db, self, settlements),
    interruption: 'dead_worker',
    goesOn,
  });
}

/**
 * Gives back claims of this worker of which it does not know.
 * @param known number of those of which it does
 * @param take whether a claim is to be given back; called right before that is written
 */
export async function returnStrays(
  db: Database,
  workerId: number,
  known: number,
  take: (job: StoredJob) => boolean,
  changes: ChangeFeed,
): Promise<Set<string>> {
  return inBatches(db, changes, {
    next: async () => (await strayJobs(db, workerId, known + BATCH)).filter(take),
    eventFor: () => ({ type: 'interrupted' }),
    interruption: 'expired_lease',
  });
}

/** Queues whose lifetimes one batch ends. Together they have at most `BATCH` jobs in it. */
const QUEUES_AT_ONCE = 50;

/**
 * Ends the pending jobs of the queues whose delivery lifetime is over (D8). The queues that have such jobs take turns,
 * and a batch reads as many jobs as it ends, whatever the number of queues and the backlog of each.
 * @param goesOn called before each batch; false stops
 */
export async function endLifetimes(
  db: Database,
  changes: ChangeFeed,
  queueIds: readonly string[],
  goesOn: () => boolean = () => true,
): Promise<Set<string>> {
  const touched = new Set<string>();
  if (!isClockTrusted(db)) return touched;
  let waiting = await queuesPastLifetime(db, queueIds);
  while (waiting.length > 0 && goesOn()) {
    const turn = waiting.slice(0, QUEUES_AT_ONCE);
    const limit = Math.floor(BATCH / turn.length);
    const jobs = await jobsPastLifetime(db, turn, limit);
    const applied = await settleBatch(db, changes, jobs, { eventFor: () => ({ type: 'lifetime_ended' }) });
    const more = turn.filter((queueId) => {
      const ofQueue = jobs.filter((job) => job.queueId === queueId);
      const isApplied = ofQueue.some(({ id }) => applied.has(id));
      if (isApplied) touched.add(queueId);
      // If none was applied, another process is settling the queue's jobs; reading them again could loop for ever.
      return isApplied && ofQueue.length === limit;
    });
    waiting = [...waiting.slice(turn.length), ...more];
  }
  return touched;
}

/**
 * Ends the pending jobs of a deleted queue, and deletes its dead letters (D17), of which each may have millions.
 * @param goesOn called before each further batch; false stops
 */
export async function emptyDeletedQueue(
  db: Database,
  queueId: string,
  changes: ChangeFeed = NO_CHANGES,
  goesOn: () => boolean = () => true,
): Promise<void> {
  await inBatches(db, changes, {
    next: () => pendingJobs(db, queueId, BATCH),
    eventFor: () => ({ type: 'queue_deleted' }),
    goesOn,
  });
  while (goesOn()) if (!(await sweepDeadLetters(db, queueId))) return;
}

/** Locks of this process, which end with it. */
export type Locks = Pick<Listener, 'lock' | 'unlock'>;

/** Empties a deleted queue unless another process does: a wake-up of it comes to every worker. */
export async function emptyAlone(
  db: Database,
  locks: Locks,
  queueId: string,
  changes: ChangeFeed,
  goesOn: () => boolean,
): Promise<void> {
  const name = `jobferry empty queue ${queueId}`;
  if (!(await locks.lock(name))) return;
  try {
    await emptyDeletedQueue(db, queueId, changes, goesOn);
  } finally {
    await locks.unlock(name);
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

interface Settling {
  eventFor: (job: StoredJob) => JobEvent;
  write?: Write;
  /** Why claims are taken back, for the metrics. */
  interruption?: 'dead_worker' | 'expired_lease';
}

interface Recovery extends Settling {
  next: () => Promise<StoredJob[]>;
  /** Called before each further batch; false stops. */
  goesOn?: () => boolean;
}

async function inBatches(db: Database, changes: ChangeFeed, recovery: Recovery): Promise<Set<string>> {
  const { next, goesOn = () => true } = recovery;
  const touched = new Set<string>();
  for (;;) {
    const jobs = await next();
    const applied = await settleBatch(db, changes, jobs, recovery);
    for (const { id, queueId } of jobs) if (applied.has(id)) touched.add(queueId);
    // If nothing was applied, another process is settling these jobs; reading them again could loop for ever.
    if (jobs.length < BATCH || applied.size === 0 || !goesOn()) return touched;
  }
}

/** @returns the ids of the jobs that were settled */
async function settleBatch(
  db: Database,
  changes: ChangeFeed,
  jobs: readonly StoredJob[],
  { eventFor, write = settle, interruption }: Settling,
): Promise<Set<string>> {
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
    changes.changed({ accountId, queueId, jobId });
    counts.settled(queueId, result);
    if (event.type === 'interrupted' && interruption !== undefined) counts.takebacks.add(interruption);
  }
  return applied;
}
