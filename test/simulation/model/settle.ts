import type { AttemptStatus, DeadReason, JobStatus } from '../../../src/domain/job.ts';
import { alive, failing } from './breaker.ts';
import type { JobRow, QueueRow, Tables, WakeTask } from './tables.ts';

/** As `toItems` of `db/delivery/settle` writes them; what is undefined there is absent. */
export interface SettleItem {
  id: string;
  expected: JobStatus;
  token: string;
  status: JobStatus;
  attempts: number;
  deferCount: number;
  shortHolds?: number;
  interruptions: number;
  waitMs: number;
  lastError: string | null;
  deadReason: DeadReason | null;
  entryAttempt?: number;
  entryStatus?: AttemptStatus;
  entryError?: string | null;
  entryCode?: number | null;
  answerCode?: number | null;
  effect?: 'hold' | 'resume' | 'alive' | 'accepted' | 'failing';
  effectMs?: number;
  unbilled?: true;
}

let lastJson = '';
let lastItems: SettleItem[] = [];

/** The items of a settle statement; caches those of the last one, because they are read twice. */
export function itemsOf(json: unknown): SettleItem[] {
  if (json !== lastJson) {
    lastJson = json as string;
    lastItems = JSON.parse(lastJson) as SettleItem[];
  }
  return lastItems;
}

interface Applied {
  job: JobRow;
  queue: QueueRow;
  item: SettleItem;
}

/** `jobferry_settle`: returns the ids that were applied. */
export function settle(tables: Tables, items: readonly SettleItem[]): string[] {
  const now = tables.clock();
  // All items are compared with the rows before the statement.
  const decided = items.flatMap((item): Applied[] => {
    const job = tables.jobs.get(item.id);
    const queue = job && tables.queues.get(job.queueId);
    if (job === undefined || queue === undefined) return [];
    return job.status === item.expected && String(job.token) === item.token ? [{ job, queue, item }] : [];
  });
  for (const applied of decided) write(tables, applied, now);
  const inOrder = decided.length < 2 ? decided : decided.toSorted((a, b) => (a.job.id < b.job.id ? -1 : 1));
  for (const { job, queue, item } of inOrder) affect(queue, job.id, item, now);
  tellBreakers(inOrder, now);
  askForWakeUps(tables, decided, now);
  for (const { job, item } of decided) {
    if (item.unbilled) tables.usage.set(job.accountId, (tables.usage.get(job.accountId) ?? 0) - 1);
  }
  return decided.map(({ job }) => job.id);
}

function write(tables: Tables, { job, queue, item }: Applied, now: number): void {
  // A job must not go back to a queue that is gone (D17).
  const isBuried = item.status === 'pending' && queue.deletedAt !== null;
  const status = isBuried ? 'dead' : item.status;
  const deadReason = isBuried ? 'queue_deleted' : item.deadReason;
  const { entryStatus } = item;
  const lastError = deadReason === 'queue_deleted' ? deadReason : item.lastError;
  const entry = entryStatus && {
    attempt: item.entryAttempt ?? 0,
    status: entryStatus,
    error: item.entryError ?? null,
    webhookStatusCode: item.entryCode ?? null,
    timestamp: now,
  };
  tables.updateJob(job, {
    status,
    deadReason,
    lastError,
    attempts: item.attempts,
    deferCount: item.deferCount,
    shortHolds: item.shortHolds ?? 0,
    interruptions: item.interruptions,
    scheduledFor: status === 'pending' ? now + item.waitMs : job.scheduledFor,
    deadline: status === 'awaiting_ack' ? now + item.waitMs : null,
    completedAt: status === 'completed' ? now : null,
    deadAt: status === 'dead' ? now : null,
    waitReason: status === 'pending' ? waitReasonOf(item) : null,
    workerId: null,
    answerCode: status === 'awaiting_ack' ? (item.answerCode ?? null) : null,
    history: entry ? [...job.history, entry] : job.history,
  });
  const leavesLetter = queue.dlqEnabled && queue.deletedAt === null && deadReason !== 'cancelled';
  if (status === 'dead' && deadReason !== null && leavesLetter) {
    const webhookStatusCode = item.entryCode ?? null;
    tables.letters.set(job.id, { reason: deadReason, error: lastError, webhookStatusCode, deadAt: now });
  }
}

function waitReasonOf({ entryStatus, waitMs }: SettleItem): JobRow['waitReason'] {
  if (entryStatus === 'deferred') return 'hold';
  return entryStatus !== undefined || waitMs > 0 ? 'backoff' : null;
}

function affect(queue: QueueRow, jobId: string, { effect, effectMs }: SettleItem, now: number): void {
  if (effect === 'hold') {
    queue.holdUntil = Math.max(queue.holdUntil ?? 0, now + (effectMs ?? 0));
    if (queue.probeJobId === jobId) queue.probeJobId = null;
  } else if (effect === 'resume' && queue.probeJobId === jobId) {
    if (queue.holdUntil !== null && queue.holdUntil <= now && queue.breaker.openedAt === null) queue.holdUntil = null;
    queue.probeJobId = null;
  }
}

/** Answers that are settled together are counted together, those that were accepted last. */
function tellBreakers(applied: readonly Applied[], now: number): void {
  for (const queue of new Set(applied.map((one) => one.queue))) {
    const told = (effect: SettleItem['effect']) =>
      applied.filter((one) => one.queue === queue && one.item.effect === effect);
    const idsOf = (some: readonly Applied[]) => ({ jobIds: some.map(({ job }) => job.id), now });
    const [failed, accepted, ended] = [told('failing'), told('accepted'), told('alive')];
    const holds = failed.flatMap(({ item }) => item.effectMs ?? []);
    const isInRow = accepted.length + ended.length === 0;
    const holdMs = holds.length === 0 ? null : Math.max(...holds);
    if (failed.length > 0) failing(queue, idsOf(failed), { isInRow, holdMs });
    if (accepted.length > 0) alive(queue, idsOf(accepted), false);
    if (ended.length > 0) alive(queue, idsOf(ended), true);
  }
}

function askForWakeUps(tables: Tables, settled: readonly Applied[], now: number): void {
  const dues = new Map<string, { task: WakeTask; queueId: string; due: number }>();
  const add = (task: WakeTask, queueId: string, due: number) => {
    const second = `${task}:${queueId}:${Math.floor(due / 1000)}`;
    const known = dues.get(second);
    if (known === undefined || due < known.due) dues.set(second, { task, queueId, due });
  };
  for (const { job, queue } of settled) {
    if (job.status === 'pending') add('deliver', queue.id, job.scheduledFor);
    if (job.status === 'awaiting_ack') add('timeout', queue.id, job.deadline ?? now);
  }
  for (const { task, queueId, due } of dues.values()) tables.wake(task, queueId, due);
}
