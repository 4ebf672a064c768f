import * as actions from '../../db/bulk/actions.ts';
import { nextCancellable, nextPending, nextReplayable } from '../../db/bulk/selection.ts';
import type { Settlement } from '../../db/delivery/settle.ts';
import { jobsByIds, type StoredJob } from '../../db/delivery/stored-job.ts';
import { BULK_BATCH, filterOf, judgeCanary, paceOf } from '../../domain/bulk.ts';
import type { DeadLetterFilter, JobFilter } from '../../domain/job-filter.ts';
import { transition } from '../../domain/transition.ts';
import { type Context, limitReached, planOf } from '../../services/context.ts';
import { queueDeleted } from '../../services/dead-letters/exists.ts';

/** What bulk actions need of the context: they run in the workers, which have no other. */
export type BulkContext = Pick<Context, 'db' | 'plans' | 'periods' | 'wake' | 'changes'>;

const CANARY_LOOK_MS = 1000;
const LOST_RACE_MS = 100;

/**
 * Does the next batch of an action. A batch and its counts are one commit, which only the one takes place
 * that knows how far the action has come; so a process that dies, or two at once, neither lose nor
 * repeat anything.
 * @param share of a whole batch, above 0 and up to 1; smaller after one that took too long
 * @returns milliseconds until the next step; null when there is nothing more to do here, because the
 *   action has ended or another process has gone on with it
 */
export async function runBulkAction(context: BulkContext, actionId: string, share = 1): Promise<number | null> {
  const action = await actions.lookAtBulkAction(context.db, actionId);
  if (action === null) return null;
  if (action.queueGone) return finish(context, action, queueDeleted().message);
  return action.kind === 'replay_dead_letters'
    ? replayNext(context, action, share)
    : cancelNext(context, action, share);
}

/** Ends an action that cannot go on, for a reason that is nobody's doing. */
export async function failBulkAction(context: BulkContext, actionId: string, error: string): Promise<void> {
  const action = await actions.lookAtBulkAction(context.db, actionId);
  if (action !== null) await finish(context, action, error);
}

type Action = actions.RunningAction;

async function replayNext(context: BulkContext, action: Action, share: number): Promise<number | null> {
  const { db, periods } = context;
  if (typeof action.canary === 'object') {
    const judgement = judgeCanary(action.canary);
    if (judgement === 'wait') return CANARY_LOOK_MS;
    if (judgement !== 'go') return finish(context, action, judgement.failed);
    await actions.noteCanaryCompleted(db, action.id);
  }
  const { batchSize, intervalMs } = paceOf(action.ratePerSecond);
  const tooEarlyMs = action.sinceLastMs === null ? 0 : intervalMs - action.sinceLastMs;
  if (tooEarlyMs > 0) return tooEarlyMs;

  const queueId = queueOf(action);
  const selection = { queueId, filter: filterOf<DeadLetterFilter>(action.selection), periods };
  const limit = action.canary === 'to_send' ? 1 : Math.max(1, Math.floor(batchSize * share));
  const bounds = { after: action.position, before: action.id, limit };
  const { ids, walkedTo } = await nextReplayable(db, selection, bounds);
  if (ids.length === 0) {
    if (walkedTo === null) return finish(context, action, null);
    await actions.advanceBulkAction(db, action, walkedTo);
    return 0;
  }

  const plan = planOf(context, action);
  const answer = await actions.replayBatch(db, action, { ids, limit: plan.monthlyAttempts }, periods);
  switch (answer.outcome) {
    case 'ended':
    case 'taken':
      return null;
    case 'queue_deleted':
      return finish(context, action, queueDeleted().message);
    case 'limit_reached':
      return finish(context, action, limitReached(plan).message);
    case 'done':
      if (answer.jobs.length > 0) context.wake(queueId, 'change');
      tell(context, action, queueId);
      return action.canary === 'to_send' ? CANARY_LOOK_MS : intervalMs;
  }
}

async function cancelNext(context: BulkContext, action: Action, share: number): Promise<number | null> {
  const { db } = context;
  const ids = await nextToCancel(context, action, Math.max(1, Math.floor(BULK_BATCH * share)));
  if (ids.length === 0) return finish(context, action, null);
  const jobs = await jobsByIds(db, ids);
  const answer = await actions.settleBatch(db, action, ids, jobs.flatMap(cancellation));
  if (answer.outcome !== 'done') return null;
  const applied = new Set(answer.applied);
  const queues = new Set(jobs.filter((job) => applied.has(job.id)).map((job) => job.queueId));
  for (const queueId of queues) {
    // One that awaited its report leaves a free slot.
    context.wake(queueId, 'change');
    tell(context, action, queueId);
  }
  if (queues.size === 0) tell(context, action, null);
  // A purge may meet the same jobs again, if others keep winning the race for them.
  return applied.size === 0 ? LOST_RACE_MS : 0;
}

function nextToCancel(context: BulkContext, action: Action, limit: number): Promise<string[]> {
  const { db, periods } = context;
  if (action.kind === 'purge_queue') return nextPending(db, queueOf(action), action.id, limit);
  const filter = filterOf<JobFilter>(action.selection);
  const selection = { accountId: action.accountId, filter, periods };
  return nextCancellable(db, selection, { after: action.position, before: action.id, limit });
}

/** Nothing for a job that is on the wire, which cannot be called back, or has ended. */
function cancellation(job: StoredJob): Settlement[] {
  const decided = transition(job.state, job.rules, { type: 'cancelled' }, { now: job.now, random: 0 });
  if (decided === null) return [];
  return [{ id: job.id, expected: job.state.status, token: job.token, transition: decided, answer: null }];
}

/** @param error null: it has done what it was asked for */
async function finish(context: BulkContext, action: Action, error: string | null): Promise<null> {
  // False: somebody else has gone on with it, and ends it too.
  if (await actions.finishBulkAction(context.db, action, error)) tell(context, action, action.queueId);
  return null;
}

function tell(context: BulkContext, action: Action, queueId: string | null): void {
  const change = { accountId: action.accountId, actionId: action.id };
  context.changes.changed(queueId === null ? change : { ...change, queueId });
}

function queueOf(action: Action): string {
  if (action.queueId === null) throw new Error(`bulk action ${action.id} has no queue`);
  return action.queueId;
}
