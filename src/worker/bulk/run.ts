import * as actions from '../../db/bulk/actions.ts';
import { nextCancellable, nextPending, nextReplayable } from '../../db/bulk/selection.ts';
import type { Settlement } from '../../db/delivery/settle.ts';
import { jobsByIds, type StoredJob } from '../../db/delivery/stored-job.ts';
import { BULK_BATCH, checkCanary, filterOf, paceOf } from '../../domain/bulk.ts';
import type { DeadLetterFilter, JobFilter } from '../../domain/job-filter.ts';
import { transition } from '../../domain/transition.ts';
import { type Context, limitReached, planOf } from '../../services/context.ts';
import { queueDeleted } from '../../services/dead-letters/exists.ts';

/** The part of the context that bulk actions need. Workers have no more than this. */
export type BulkContext = Pick<Context, 'db' | 'plans' | 'periods' | 'wake' | 'changes'>;

const CANARY_POLL_MS = 1000;
const LOST_RACE_MS = 100;

/**
 * Runs the next batch of an action. A batch and its counts are one commit, which applies only if the action is still at
 * the position that this process has read. So a process that dies, or two at once, neither lose nor repeat a job.
 * @param share share of a whole batch, above 0 and up to 1; smaller after a batch that took too long
 * @returns milliseconds until the next step; null when the action has ended or another process runs it
 */
export async function runBulkAction(context: BulkContext, actionId: string, share = 1): Promise<number | null> {
  const action = await actions.readRunningAction(context.db, actionId);
  if (action === null) return null;
  if (action.queueGone) return finish(context, action, queueDeleted().message);
  return action.kind === 'replay_dead_letters'
    ? replayNext(context, action, share)
    : cancelNext(context, action, share);
}

/** Ends an action that cannot continue, with `error` as its reason. */
export async function failBulkAction(context: BulkContext, actionId: string, error: string): Promise<void> {
  const action = await actions.readRunningAction(context.db, actionId);
  if (action !== null) await finish(context, action, error);
}

type Action = actions.RunningAction;

async function replayNext(context: BulkContext, action: Action, share: number): Promise<number | null> {
  const { db, periods } = context;
  if (typeof action.canary === 'object') {
    const verdict = checkCanary(action.canary);
    if (verdict === 'wait') return CANARY_POLL_MS;
    if (verdict !== 'go') return finish(context, action, verdict.failed);
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
  const result = await actions.replayBatch(db, action, { ids, limit: plan.monthlyAttempts }, periods);
  switch (result.outcome) {
    case 'ended':
    case 'taken':
      return null;
    case 'queue_deleted':
      return finish(context, action, queueDeleted().message);
    case 'limit_reached':
      return finish(context, action, limitReached(plan).message);
    case 'done':
      if (result.jobs.length > 0) context.wake(queueId, 'change');
      publishChange(context, action, queueId);
      return action.canary === 'to_send' ? CANARY_POLL_MS : intervalMs;
  }
}

async function cancelNext(context: BulkContext, action: Action, share: number): Promise<number | null> {
  const { db } = context;
  const ids = await nextToCancel(context, action, Math.max(1, Math.floor(BULK_BATCH * share)));
  if (ids.length === 0) return finish(context, action, null);
  const jobs = await jobsByIds(db, ids);
  const result = await actions.settleBatch(db, action, ids, jobs.flatMap(cancellation));
  if (result.outcome !== 'done') return null;
  const applied = new Set(result.applied);
  const queues = new Set(jobs.filter((job) => applied.has(job.id)).map((job) => job.queueId));
  for (const queueId of queues) {
    // A cancelled job that awaited its report leaves a free slot.
    context.wake(queueId, 'change');
    publishChange(context, action, queueId);
  }
  if (queues.size === 0) publishChange(context, action, null);
  // A purge may read the same jobs again if other processes keep settling them first.
  return applied.size === 0 ? LOST_RACE_MS : 0;
}

function nextToCancel(context: BulkContext, action: Action, limit: number): Promise<string[]> {
  const { db, periods } = context;
  if (action.kind === 'purge_queue') return nextPending(db, queueOf(action), action.id, limit);
  const filter = filterOf<JobFilter>(action.selection);
  const selection = { accountId: action.accountId, filter, periods };
  return nextCancellable(db, selection, { after: action.position, before: action.id, limit });
}

/** Empty for a job that has ended, or that is being delivered: a request on the wire cannot be undone. */
function cancellation(job: StoredJob): Settlement[] {
  const decided = transition(job.state, job.rules, { type: 'cancelled' }, { now: job.now, random: 0 });
  if (decided === null) return [];
  return [{ id: job.id, expected: job.state.status, token: job.token, transition: decided, answer: null }];
}

/** @param error null when the action is complete */
async function finish(context: BulkContext, action: Action, error: string | null): Promise<null> {
  // `finishBulkAction` returns false if another process runs the action, which then ends it.
  if (await actions.finishBulkAction(context.db, action, error)) publishChange(context, action, action.queueId);
  return null;
}

function publishChange(context: BulkContext, action: Action, queueId: string | null): void {
  const change = { accountId: action.accountId, actionId: action.id };
  context.changes.changed(queueId === null ? change : { ...change, queueId });
}

function queueOf(action: Action): string {
  if (action.queueId === null) throw new Error(`bulk action ${action.id} has no queue`);
  return action.queueId;
}
