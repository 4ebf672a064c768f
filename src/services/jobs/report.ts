import { settleAudited } from '../../db/delivery/settle.ts';
import type { StoredJob } from '../../db/delivery/stored-job.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { isPerson } from '../../domain/audit.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { JobDocument, JobStatus } from '../../domain/job.ts';
import { type DeferScope, type JobEvent, type Transition, transition } from '../../domain/transition.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { Context } from '../context.ts';
import { afterCommit } from '../explain-unavailable.ts';
import type { JobBatches } from './batches.ts';

interface ReportInput {
  /** The attempt that the report is about; refused unless it is in flight. Left out: the attempt that is in flight. */
  attempt?: number | undefined;
  /** Trace context of the request; null or undefined without one. */
  trace?: string | null | undefined;
}

const NAMES = { acked: 'ack', nacked: 'nack', deferred: 'defer' } as const;

type Ended = Parameters<typeof counts.settled>[1];
const COMPLETED: Ended = { status: 'completed', deadReason: null, entry: null };

type ReportEvent = Extract<JobEvent, { type: 'acked' | 'nacked' | 'deferred' }>;

/**
 * The client's reports that end an attempt in ack mode (spec "Ack mode"). Exactly one report per attempt applies. Each
 * method returns the job as it is afterwards.
 * @throws JobferryError `not_found`, `invalid_request` (not awaiting_ack, or another attempt is in flight),
 *   `unavailable`
 */
export function createReports(context: Context, jobs: JobBatches) {
  const { db } = context;
  const report = async (
    account: Account,
    jobId: string,
    { attempt, trace = null }: ReportInput,
    event: ReportEvent,
    giveUpAt?: number,
  ): Promise<JobDocument> => {
    const job = await findReportable(jobs, account, jobId, attempt, giveUpAt);
    const span = context.tracing?.startReport(NAMES[event.type], job, trace) ?? null;
    const reporting = apply(account, job, event);
    await (span === null ? reporting : span.until(reporting, (status) => ({ 'jobferry.status': status })));
    return jobs.document(account, jobId).catch(afterCommit);
  };

  /** @returns the status of the job after the report */
  const apply = async (account: Account, job: StoredJob, event: ReportEvent): Promise<JobStatus> => {
    const moment = { now: job.now, random: Math.random() };
    const decided = transition(job.state, job.rules, event, moment);
    if (decided === null) throw notAwaitingAck(job.rules.mode, job.state.status);
    const { id, token } = job;
    const settlement = { id, expected: job.state.status, token, transition: decided, answer: null };
    const applied = isPerson(account.actor)
      ? await db.changingTurns.run(account.id, () =>
          settleAudited(db, authorOf(account), settlement, entryOf(event, decided)),
        )
      : await jobs.settle(account, settlement);
    if (!applied) {
      throw new JobferryError(
        'invalid_request',
        'the job is no longer awaiting_ack: another report or its timeout came first',
      );
    }
    noteReported(account, job, decided);
    return decided.status;
  };

  const noteReported = (account: Account, { id, queueId }: Pick<StoredJob, 'id' | 'queueId'>, ended: Ended) => {
    counts.settled(queueId, ended);
    context.wake(queueId, 'change');
    context.changes.changed({ accountId: account.id, queueId, jobId: id });
  };

  return {
    /**
     * Reports success: the job is completed. Nearly all reports are acks,
     * and one statement decides and writes an ordinary one.
     */
    async ack(account: Account, jobId: string, input: ReportInput = {}): Promise<JobDocument> {
      const giveUpAt = performance.now() + SETTLE_GRACE_MS;
      const isOrdinary = context.tracing == null && !isPerson(account.actor);
      const acked = isOrdinary
        ? await untilSettled(
            giveUpAt,
            () => jobs.ack(account, jobId, input.attempt),
            (result) => result === 'coming',
          )
        : 'unusual';
      if (typeof acked === 'string') return report(account, jobId, input, { type: 'acked' }, giveUpAt);
      noteReported(account, { id: jobId, queueId: acked.queueId }, COMPLETED);
      return acked.document ?? jobs.document(account, jobId).catch(afterCommit);
    },

    /** Reports failure: the job is retried, or dead at once when it is not `retryable`. */
    async nack(
      account: Account,
      jobId: string,
      { retryable, reason, ...input }: ReportInput & { retryable: boolean; reason: string | null },
    ): Promise<JobDocument> {
      return report(account, jobId, input, { type: 'nacked', retryable, reason });
    },

    /** Reports backpressure: the job, or its whole queue, is held for `retryAfter` seconds. */
    async defer(
      account: Account,
      jobId: string,
      {
        retryAfter,
        scope,
        reason,
        ...input
      }: ReportInput & { retryAfter: number; scope: DeferScope; reason: string | null },
    ): Promise<JobDocument> {
      const retryAfterMs = Math.ceil(retryAfter * 1000);
      return report(account, jobId, input, { type: 'deferred', retryAfterMs, scope, reason });
    },
  };
}

/**
 * The entry of the audit log about a person's report: not the reason,
 * which is in the job's history and only some may see.
 */
function entryOf(event: ReportEvent, { status }: Transition) {
  switch (event.type) {
    case 'acked':
      return { action: 'job.ack', after: { status } } as const;
    case 'nacked':
      return { action: 'job.nack', after: { status, retryable: event.retryable } } as const;
    case 'deferred':
      return {
        action: 'job.defer',
        after: { status, scope: event.scope, retryAfter: event.retryAfterMs / 1000 },
      } as const;
  }
}

/**
 * A client may report directly after its 2xx, before the worker has settled the delivery. So a report on a job that is
 * still processing in ack mode waits up to this time for the settle.
 */
const SETTLE_GRACE_MS = 1000;
/**
 * Doubles each time: most settles take a few milliseconds, and many clients may wait at once for a receiver that hangs.
 */
const FIRST_POLL_MS = 20;

/** Repeats `ask` while its result may change soon, until `giveUpAt` by the clock of the process. */
async function untilSettled<T>(giveUpAt: number, ask: () => Promise<T>, mayChange: (result: T) => boolean): Promise<T> {
  for (let pollMs = FIRST_POLL_MS; ; pollMs *= 2) {
    const result = await ask();
    const leftMs = giveUpAt - performance.now();
    if (!mayChange(result) || leftMs <= 0) return result;
    await new Promise((resolve) => setTimeout(resolve, Math.min(pollMs, leftMs)));
  }
}

/** @throws JobferryError `invalid_request` when another attempt than this one is in flight */
export async function findReportable(
  jobs: JobBatches,
  account: Account,
  jobId: string,
  attempt?: number,
  giveUpAt = performance.now() + SETTLE_GRACE_MS,
): Promise<StoredJob> {
  const find = async () => {
    const job = await jobs.find(account, jobId);
    if (attempt !== undefined) assertInFlight(job, attempt);
    return job;
  };
  return untilSettled(giveUpAt, find, ({ state, rules }) => state.status === 'processing' && rules.mode === 'ack');
}

/** A late report on an earlier attempt must not end the present one. */
function assertInFlight({ state: { status, attempts } }: StoredJob, attempt: number): void {
  const isInFlight = status === 'processing' || status === 'awaiting_ack';
  if (!isInFlight || attempt === attempts) return;
  const what = attempt < attempts ? 'is over' : 'has not started';
  throw new JobferryError('invalid_request', `attempt ${attempt} ${what}, attempt ${attempts} is in flight`);
}

export function notAwaitingAck(mode: string, status: string): JobferryError {
  const message = mode === 'ack' ? `the job is ${status}, not awaiting_ack` : 'the queue is not in ack mode';
  return new JobferryError('invalid_request', message);
}
