import { batched } from '../../support/batched.ts';
import { type AckAsked, ack } from './ack.ts';
import { renew } from './breaker.ts';
import { claim } from './claim.ts';
import { publish } from './publish.ts';
import { itemsOf, settle } from './settle.ts';
import type { JobRow, Tables } from './tables.ts';

/**
 * The effects of the named statements of `src/db`, by name. So `src` runs on the model unchanged, from
 * the dispatcher to the functions of `src/db`, and only PostgreSQL is replaced.
 */
export type Execute = (tables: Tables, name: string, values: unknown[]) => object[];

const STATEMENTS: Readonly<Record<string, (tables: Tables, values: unknown[]) => object[]>> = {
  claim,
  publish: (tables, values) => [publish(tables, values)],
  settle: (tables, [json]) => [{ applied: settle(tables, itemsOf(json)) }],

  ack: (tables, [json]) => [ack(tables, JSON.parse(json as string) as AckAsked[])],

  'settle-overdue': (tables, [json]) => {
    const now = tables.clock();
    const overdue = itemsOf(json).filter(({ id }) => (tables.jobs.get(id)?.deadline ?? Infinity) <= now);
    return [{ applied: settle(tables, overdue) }];
  },

  'settle-lost': (tables, [json, , self]) => {
    const now = tables.clock();
    const isLost = ({ id }: { id: string }) => {
      const worker = tables.jobs.get(id)?.workerId ?? -1;
      const confirmedAt = tables.confirmations.get(worker) ?? Number.NEGATIVE_INFINITY;
      return !tables.leaseLocks.has(worker) && (confirmedAt < now - 3000 || confirmedAt > now);
    };
    const lost = tables.leaseLocks.has(self as number) ? itemsOf(json).filter(isLost) : [];
    return [{ applied: settle(tables, lost) }];
  },

  'settle-audited': (tables, [json]) => [{ applied: settle(tables, itemsOf(json)) }],

  'stored-jobs-kept': (tables, [ids, retentionMs, lifetimeMs]) => {
    const now = tables.clock();
    const found = [...new Set(ids as string[])].map((id) => tables.jobs.get(id));
    const isKept = (job: JobRow) => {
      const pastRetention = job.createdAt + (retentionMs as number);
      if (now < pastRetention || (job.status !== 'completed' && job.status !== 'dead')) return true;
      return (job.completedAt ?? job.deadAt ?? 0) >= Math.max(pastRetention, now - (lifetimeMs as number));
    };
    return found.flatMap((job) => (job === undefined || !isKept(job) ? [] : [toRow(tables, job)]));
  },

  'stored-jobs-overdue': (tables, [queueId, limit]) => {
    const now = tables.clock();
    const overdue = tables
      .jobsOf(queueId as string, 'processing', 'awaiting_ack')
      .filter((job) => (job.deadline ?? Infinity) <= now);
    return first(tables, overdue, (job) => job.deadline ?? 0, limit);
  },

  'stored-jobs-of-workers': (tables, [workerIds, limit]) => {
    const numbers = workerIds as number[];
    const theirs = [...tables.jobs.values()].filter((job) => job.workerId !== null && numbers.includes(job.workerId));
    return first(tables, theirs, () => 0, limit);
  },

  'queues-past-lifetime': (tables, [queueIds]) =>
    (queueIds as string[]).filter((id) => pastLifetime(tables, id).length > 0).map((id) => ({ id })),

  'stored-jobs-past-lifetime': (tables, [queueIds, limit]) =>
    (queueIds as string[]).flatMap((id) => first(tables, pastLifetime(tables, id), (job) => job.deliverBy, limit)),

  'stored-jobs-pending': (tables, [queueId, limit]) =>
    first(tables, tables.jobsOf(queueId as string, 'pending'), (job) => job.scheduledFor, limit),

  'accounts-of-queues': (tables, [queueIds]) =>
    (queueIds as string[]).flatMap((id) => {
      const queue = tables.queues.get(id);
      return queue === undefined ? [] : [{ id, account_id: queue.accountId }];
    }),

  'live-queues-page': (tables, [after, limit]) => pageOf(tables, false, after, limit),
  'deleted-queues-page': (tables, [after, limit]) => pageOf(tables, true, after, limit),

  'queues-with-work': (tables, [queueIds]) => {
    const now = tables.clock();
    const asked = [...tables.queues.values()].filter(({ id }) => (queueIds as string[]).includes(id));
    return asked.map(({ id, pausedAt, deletedAt }) => {
      const head = tables.line(id)[0];
      const inFlight = tables.jobsOf(id, 'processing', 'awaiting_ack');
      return {
        id,
        due: head !== undefined && ((head.scheduledFor <= now && pausedAt === null) || deletedAt !== null),
        overdue: inFlight.some((job) => (job.deadline ?? Infinity) <= now),
      };
    });
  },

  'next-deadline': (tables, [queueId]) => {
    const deadlines = tables.jobsOf(queueId as string, 'processing', 'awaiting_ack').map((job) => job.deadline ?? 0);
    // numeric arrives as text
    return [{ wait_ms: deadlines.length === 0 ? null : String(Math.min(...deadlines) - tables.clock()) }];
  },

  'lease-locks': (tables) => {
    const now = tables.clock();
    const held = [...tables.leaseLocks].map((worker_id) => ({ worker_id, held: true }));
    const silent = [...tables.confirmations].flatMap(([worker_id, at]) =>
      !tables.leaseLocks.has(worker_id) && at <= now - 3000 && at >= now - 30_000 ? [{ worker_id, held: false }] : [],
    );
    return [...held, ...silent];
  },

  'forget-confirmations': (tables, [workerIds]) => {
    return (workerIds as number[]).filter((id) => tables.confirmations.delete(id)).map((worker_id) => ({ worker_id }));
  },

  'claiming-workers': (tables) => {
    const numbers = [...tables.jobs.values()].map(({ workerId }) => workerId);
    return [...new Set(numbers)].flatMap((worker_id) => (worker_id === null ? [] : [{ worker_id }]));
  },

  'sweep-dead-letters': (tables, [queueId]) =>
    [...tables.letters.keys()]
      .filter((jobId) => tables.jobs.get(jobId)?.queueId === queueId && tables.letters.delete(jobId))
      .map(() => ({ swept: 1 })),

  'pause-queues': (tables, [queueIds]) =>
    liveOf(tables, queueIds).map((queue) => {
      const changed = queue.pausedAt === null;
      queue.pausedAt ??= tables.clock();
      return { id: queue.id, changed };
    }),

  'resume-queues': (tables, [queueIds, , , lifetimeMs]) =>
    liveOf(tables, queueIds).map((queue) => {
      if (queue.pausedAt === null) return { id: queue.id, changed: false };
      queue.pausedAt = null;
      queue.lifetimeFloor = tables.clock() + (lifetimeMs as number);
      tables.wake('deliver', queue.id, tables.clock());
      return { id: queue.id, changed: true };
    }),

  'renew-breaker': (tables, [queueId]) => {
    const queue = tables.queues.get(queueId as string);
    if (queue === undefined) return [];
    renew(queue, tables.clock());
    return [{ id: queue.id }];
  },

  'delete-queue': (tables, [queueId]) => {
    const queue = tables.queues.get(queueId as string);
    if (queue === undefined || queue.deletedAt !== null) return [];
    Object.assign(queue, { deletedAt: tables.clock(), holdUntil: null, probeJobId: null });
    tables.wake('deliver', queue.id, tables.clock());
    return [{}];
  },

  'run-job-now': (tables, [id, token]) => {
    const job = tables.jobs.get(id as string);
    if (job?.status !== 'pending' || String(job.token) !== token) return [];
    tables.updateJob(job, { scheduledFor: Math.min(job.scheduledFor, tables.clock()), waitReason: null });
    tables.wake('deliver', job.queueId, job.scheduledFor);
    return [{}];
  },

  'extend-ack': (tables, [id, token, ms]) => {
    const job = tables.jobs.get(id as string);
    if (job?.status !== 'awaiting_ack' || String(job.token) !== token) return [];
    const deadline = Math.max(job.deadline ?? 0, tables.clock() + (ms as number));
    tables.updateJob(job, { deadline });
    tables.wake('timeout', job.queueId, deadline);
    return [{ deadline: new Date(deadline) }];
  },
};

/** All that the model knows. */
export const STATEMENT_NAMES = [...Object.keys(STATEMENTS), 'publish-one', 'claim-one', 'settle-one'];

export const execute: Execute = (tables, name, values) => {
  tables.before.clear();
  // Always lost: a worker must not depend on the message that its claims were taken back.
  if (name === 'notify') return [];
  const batch = batched(name, values, (id) => tables.jobs.get(id));
  const statement = STATEMENTS[batch.name];
  if (statement === undefined) throw new Error(`the model of the database does not know the statement "${name}"`);
  return batch.narrow(statement(tables, batch.values));
};

function liveOf(tables: Tables, queueIds: unknown) {
  return (queueIds as string[])
    .flatMap((id) => tables.queues.get(id) ?? [])
    .filter(({ deletedAt }) => deletedAt === null);
}

function pageOf(tables: Tables, deleted: boolean, after: unknown, limit: unknown): object[] {
  const ids = [...tables.queues.values()].filter((queue) => (queue.deletedAt !== null) === deleted).map(({ id }) => id);
  const rest = ids.filter((id) => id > (after as string)).sort();
  return rest.slice(0, limit as number).map((id) => ({ id }));
}

function pastLifetime(tables: Tables, queueId: string): JobRow[] {
  const queue = tables.queues.get(queueId);
  if (queue === undefined || queue.pausedAt !== null || queue.deletedAt !== null) return [];
  const now = tables.clock();
  return tables.jobsOf(queueId, 'pending').filter((job) => tables.deliverBy(job) <= now);
}

function first(tables: Tables, jobs: JobRow[], by: (job: JobRow) => number, limit: unknown): object[] {
  const sorted = jobs.sort((a, b) => by(a) - by(b) || (a.id < b.id ? -1 : 1));
  return sorted.slice(0, limit as number).map((job) => toRow(tables, job));
}

/** The columns of `db/delivery/stored-job`. */
function toRow(tables: Tables, job: JobRow): object {
  const queue = tables.queues.get(job.queueId);
  if (queue === undefined) throw new Error('a job without its queue');
  const now = tables.clock();
  const pausedFor = queue.pausedAt === null ? 0 : now - queue.pausedAt;
  return {
    id: job.id,
    account_id: job.accountId,
    queue_id: job.queueId,
    claim_token: job.token,
    status: job.status,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    defer_count: job.deferCount,
    short_holds: job.shortHolds,
    interruptions: job.interruptions,
    backoff_type: job.backoffType,
    backoff_delay: job.backoffDelay,
    deliver_by: new Date(tables.deliverBy(job) + pausedFor),
    last_error: job.lastError,
    answer_status_code: job.answerCode,
    mode: job.mode ?? queue.mode,
    max_defers: job.maxDefers ?? queue.maxDefers,
    ack_timeout: queue.ackTimeout,
    ack_timeout_action: job.ackTimeoutAction ?? queue.ackTimeoutAction,
    is_probe: queue.probeJobId === job.id,
    trace_context: null,
    now: new Date(now),
  };
}
