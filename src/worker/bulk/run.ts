import * as actions from '../../db/bulk/actions.ts';
import { replayBatch, runBatchNow, settleBatch } from '../../db/bulk/batches.ts';
import { nextCancellable, nextPending, nextPostponed, nextReplayable } from '../../db/bulk/selection.ts';
import type { Settlement } from '../../db/delivery/settle.ts';
import { jobsByIds, type StoredJob } from '../../db/delivery/stored-job.ts';
import { BULK_BATCH, checkCanary, filterOf, paceOf } from '../../domain/bulk.ts';
import type { DeadLetterFilter, JobFilter } from '../../domain/job-filter.ts';
import { transition } from '../../domain/transition.ts';
import { type Context, limitReached, planOf } from '../../services/context.ts';
import { queueDeleted } from '../../services/dead-letters/exists.ts';
import { announceReplayed } from '../../services/dead-letters/replay.ts';
import { counts } from '../../telemetry/counts/counts.ts';

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
  switch (action.kind) {
    case 'replay_dead_letters':
      return replayNext(context, action, share);
    case 'run_jobs_now':
      return runNext(context, action, share);
    case 'cancel_jobs':
    case 'purge_queue':
      return cancelNext(context, action, share);
  }
}

/** Ends an action that cannot continue, with `error` as its reason. */
export async function failBulkAction(context: BulkContext, actionId: string, error: string): Promise<void> {
  const action = await actions.readRunningAction(context.db, actionId);
  if (action !== null) await finish(context, action, error);
}

/**
 * Stores why the last step has to be repeated, for people who look at the action.
 * @param problem null after a step that worked
 */
export async function noteBulkStep(
  { db, changes }: BulkContext,
  { id, accountId }: actions.BulkActionRef,
  problem: string | null,
): Promise<void> {
  if (await actions.noteBulkStep(db, id, problem)) changes.changed({ accountId, actionId: id });
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
  const { batchSize, intervalMs, tooEarlyMs } = paceNow(action);
  if (tooEarlyMs > 0) return tooEarlyMs;

  const { jobs = null, ...filter } = action.selection as { jobs?: unknown };
  const selection = {
    accountId: action.accountId,
    queueId: action.queueId,
    filter: filterOf<DeadLetterFilter>(filter),
    jobs: jobs === null ? null : filterOf<JobFilter>(jobs),
    periods,
  };
  const limit = action.canary === 'to_send' ? 1 : Math.max(1, Math.floor(batchSize * share));
  const bounds = { after: action.position, before: action.id, limit };
  const { ids, position } = await nextReplayable(db, selection, bounds);
  if (position === null) return finish(context, action, null);
  if (ids.length === 0) {
    await actions.advanceBulkAction(db, action, position);
    return 0;
  }

  const plan = planOf(context, action);
  const result = await replayBatch(db, action, { ids, position, limit: plan.monthlyAttempts }, periods);
  switch (result.outcome) {
    case 'ended':
    case 'taken':
      return null;
    case 'limit_reached':
      return finish(context, action, limitReached(plan).message);
    case 'done':
      wakeQueues(context, action, result.queues);
      await announceReplayed(context, action.accountId, ids);
      return action.canary === 'to_send' ? CANARY_POLL_MS : intervalMs;
  }
}

/** The pace of an action with a rate, and how long its next batch must wait: not at all if the clock went back. */
function paceNow({ ratePerSecond, sinceLastMs }: Action) {
  const { batchSize, intervalMs } = paceOf(ratePerSecond);
  const isKnown = sinceLastMs !== null && sinceLastMs >= -intervalMs;
  return { batchSize, intervalMs, tooEarlyMs: isKnown ? intervalMs - sinceLastMs : 0 };
}

async function runNext(context: BulkContext, action: Action, share: number): Promise<number | null> {
  const { db, periods } = context;
  const { batchSize, intervalMs, tooEarlyMs } = paceNow(action);
  if (tooEarlyMs > 0) return tooEarlyMs;
  const selection = { accountId: action.accountId, filter: filterOf<JobFilter>(action.selection), periods };
  const limit = Math.max(1, Math.floor(batchSize * share));
  const ids = await nextPostponed(db, selection, { after: action.position, before: action.id, limit });
  if (ids.length === 0) return finish(context, action, null);
  const result = await runBatchNow(db, action, ids);
  if (result.outcome !== 'done') return null;
  wakeQueues(context, action, result.queues);
  announce(context, action, ids);
  return intervalMs;
}

/** Wakes queues that have due jobs or free slots after a batch, and reports the batch to live subscribers. */
function wakeQueues(context: BulkContext, action: Action, queueIds: readonly string[]): void {
  for (const queueId of queueIds) {
    context.wake(queueId, 'change');
    publishChange(context, action, queueId);
  }
  if (queueIds.length === 0) publishChange(context, action, action.queueId);
}

/** Pages that show one of the jobs read it again; those of their queues are notified of the batch alone. */
function announce({ changes }: BulkContext, { accountId }: Action, jobIds: Iterable<string>): void {
  for (const jobId of jobIds) changes.changed({ accountId, jobId });
}

async function cancelNext(context: BulkContext, action: Action, share: number): Promise<number | null> {
  const { db } = context;
  const ids = await nextToCancel(context, action, Math.max(1, Math.floor(BULK_BATCH * share)));
  if (ids.length === 0) return finish(context, action, null);
  const jobs = await jobsByIds(db, ids);
  const settlements = jobs.flatMap(cancellation);
  const result = await settleBatch(db, action, ids, settlements);
  if (result.outcome !== 'done') return null;
  const applied = new Set(result.applied);
  countCancelled(jobs, settlements, applied);
  const queues = new Set(jobs.filter((job) => applied.has(job.id)).map((job) => job.queueId));
  wakeQueues(context, action, [...queues]);
  announce(context, action, applied);
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

function countCancelled(jobs: readonly StoredJob[], settlements: readonly Settlement[], applied: Set<string>): void {
  const queues = new Map(jobs.map((job) => [job.id, job.queueId]));
  for (const { id, transition: decided } of settlements) {
    const queueId = queues.get(id);
    if (queueId !== undefined && applied.has(id)) counts.settled(queueId, decided);
  }
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
