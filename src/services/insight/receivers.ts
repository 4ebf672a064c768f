import type { Database } from '../../db/connection/database.ts';
import { queueNow } from '../../db/insight/queue-now.ts';
import { sinceFailures, succeededWithinSpan } from '../../db/insight/since-failures.ts';
import type { StatsRow } from '../../db/insight/statistics.ts';
import { type LiveQueue, liveQueues } from '../../db/queues/live.ts';
import { lastAnswers } from '../../db/queues/receivers.ts';
import type { Account } from '../../domain/account.ts';
import { healthOf, isByAnswers, isMended, mayBeMended, type QueueHealth, refusedOf } from '../../domain/health.ts';
import { receiverOf } from '../../domain/receiver-host.ts';
import { STATS_BUCKET_SECONDS, sumOf } from '../../domain/statistics.ts';
import type { Context } from '../context.ts';
import { healthsOf } from './healths.ts';

/** A host to which queues deliver, with its live queues, oldest first. */
export interface Receiver {
  host: string;
  queues: readonly LiveQueue[];
}

/** The attempts of the last hour of all queues of a receiver. */
export interface ReceiverHealth extends Omit<QueueHealth, 'warnings'> {
  /**
   * Queues that fail by the receiver's answers, or whose signature is rejected, as their own healths have it. None if ten
   * attempts to the receiver succeeded since its last failure. If it fails as a whole, a queue that has failed for most of its hour
   * counts also with fewer attempts than a warning needs.
   */
  failing: number;
  /** Queues that would be failing, had the receiver not succeeded since: they have not been tried again. */
  untried: number;
  /** Attempts with another answer than 2xx and backpressure, or without one. */
  refused: number;
  /**
   * Start of the last five minutes in which an attempt got a 2xx answer; null without one in a day. Without queues in ack mode:
   * their answers are counted when the attempt ends, by a report of the worker, which may be hours later.
   */
  acceptedAt: Date | null;
  /** Start of the last five minutes in which an attempt got another answer or none; null without one in a day. */
  refusedAt: Date | null;
}

const SPAN_MS = STATS_BUCKET_SECONDS * 1000;

export type ReceiverInsight = ReturnType<typeof createReceiverInsight>;

/**
 * The receivers of an account: hosts of the webhook URLs of its queues. An account has at most 1000 queues, so they are grouped here.
 * @throws JobferryError `unavailable`
 */
export function createReceiverInsight(context: Pick<Context, 'db' | 'periods' | 'server'>) {
  const { db, periods, server } = context;
  return {
    /** Returns all receivers, in the order of their hosts. */
    async list(account: Account): Promise<Receiver[]> {
      const byHost = new Map<string, LiveQueue[]>();
      for (const queue of await liveQueues(db.reading(account.id), account.id)) {
        const host = receiverOf(queue.webhookUrl);
        if (host !== null) byHost.set(host, [...(byHost.get(host) ?? []), queue]);
      }
      return [...byHost].map(([host, queues]) => ({ host, queues })).sort((a, b) => (a.host < b.host ? -1 : 1));
    },

    /** Returns how the receivers answered, by host. */
    async healths(account: Account, receivers: readonly Receiver[]): Promise<Map<string, ReceiverHealth>> {
      const reading = db.reading(account.id);
      const ids = receivers.flatMap(({ queues }) => queues.map(({ id }) => id));
      const [states, answers] = await Promise.all([
        queueNow(reading, account.id, ids, { parts: new Set(['attempts']) }, periods),
        lastAnswers(reading, account.id, ids),
      ]);
      const attempts = new Map([...states].map(([id, state]) => [id, state.attempts]));
      const healths = await healthsOf(context, account, attempts);
      const rowsOf = (some: readonly LiveQueue[]) => some.flatMap(({ id }) => attempts.get(id) ?? []);
      const summed = receivers.map((receiver) => {
        const rows = rowsOf(receiver.queues);
        return { ...receiver, rows, whole: healthOf(sumOf(rows), server.webhookTimeoutMs) };
      });
      const ill = summed.filter(({ queues, whole }) => isIll(queues, healths, whole));
      const failures = await failuresOf(reading, account, ill, healths, periods.retentionMs);
      const last = new Map(answers.map((one) => [one.id, one]));
      const judged = summed.map(async ({ host, queues, rows, whole }) => {
        const failing = failingOf(queues, healths, whole);
        const lastOf = (some: readonly LiveQueue[]) => some.flatMap(({ id }) => last.get(id) ?? []);
        const atOnce = queues.filter(({ isAckMode }) => !isAckMode);
        const { warnings: _, ...health } = whole;
        const pastAt = ({ id }: LiveQueue) => (healths.get(id)?.past ? healths.get(id)?.lastFailure?.at : null);
        const failedAt = latest(queues.map((queue) => failures.get(queue.id)?.at ?? pastAt(queue) ?? null));
        const acceptedAt = latest([
          ...lastOf(atOnce).map((one) => one.acceptedAt),
          ...rowsOf(atOnce).filter(isAccepted).map(startOf),
        ]);
        const lastFailure =
          failedAt === null
            ? null
            : { at: failedAt, succeeded: await succeededSince(reading, account, queues, rows, failedAt) };
        // A single answer outweighs failures of before the hour.
        const isPast = failing.every(({ id }) => healths.get(id)?.past != null);
        const isAnswered = failedAt !== null && acceptedAt !== null && acceptedAt > failedAt;
        const works = isMended(lastFailure) || (isPast && isAnswered);
        const receiverHealth: ReceiverHealth = {
          ...health,
          lastFailure,
          refused: refusedOf(health),
          failing: works ? 0 : failing.length,
          untried: works ? failing.length : 0,
          acceptedAt,
          refusedAt: latest([...lastOf(queues).map((one) => one.refusedAt), ...rows.filter(isRefused).map(startOf)]),
        };
        return [host, receiverHealth] as const;
      });
      return new Map(await Promise.all(judged));
    },
  };
}

/** Whether a queue of a receiver failed for most of the hour, or all of them together did. */
function isIll(queues: readonly LiveQueue[], healths: ReadonlyMap<string, QueueHealth>, whole: QueueHealth): boolean {
  const own = ({ id }: LiveQueue) => {
    const health = healths.get(id);
    if (health === undefined || (health.lastFailure === null && !mayBeMended(health))) return false;
    return health.past?.isByAnswers ?? isByAnswers(health);
  };
  return isFailing(whole) || queues.some(own);
}

/** The queues that fail: each by its own health, or, where the receiver fails as a whole, by most of its attempts. */
function failingOf(
  queues: readonly LiveQueue[],
  healths: ReadonlyMap<string, QueueHealth>,
  whole: QueueHealth,
): readonly LiveQueue[] {
  return queues.filter(({ id }) => {
    const health = healths.get(id);
    if (health === undefined || isMended(health.lastFailure)) return false;
    return isFailing(health) || (isFailing(whole) && refusedOf(health) > health.attempts / 2);
  });
}

/** The last failures of all queues of receivers. */
async function failuresOf(
  reading: Database,
  account: Account,
  receivers: readonly Receiver[],
  healths: ReadonlyMap<string, QueueHealth>,
  retentionMs: number,
): Promise<Map<string, { at: Date }>> {
  const failed = receivers.flatMap(({ queues }) =>
    queues.filter(({ id }) => (healths.get(id)?.failed ?? 0) > 0).map(({ id }) => id),
  );
  return failed.length === 0 ? new Map() : sinceFailures(reading, account.id, failed, retentionMs);
}

/** How many attempts to a receiver have succeeded since a moment. Only those of its five minutes are read one by one. */
async function succeededSince(
  reading: Database,
  account: Account,
  queues: readonly LiveQueue[],
  rows: readonly StatsRow[],
  at: Date,
): Promise<number> {
  const start = Math.floor(at.getTime() / SPAN_MS) * SPAN_MS;
  const ids = queues.map(({ id }) => id);
  const isMixed = rows.some((row) => row.at === start && row.success > 0);
  const first = isMixed ? await succeededWithinSpan(reading, account.id, ids, at) : 0;
  return rows.filter((row) => row.at > start).reduce((sum, { success }) => sum + success, first);
}

function isFailing(health: QueueHealth | undefined): boolean {
  return health !== undefined && mayBeMended(health) && (health.past?.isByAnswers ?? isByAnswers(health));
}

/** The statistics of the last hour also have the attempts of the last seconds. */
const startOf = ({ at }: StatsRow) => new Date(at);
const isAccepted = ({ answered2xx }: StatsRow) => answered2xx > 0;
const isRefused = (row: StatsRow) => refusedOf(row) + row.backpressure > 0;

function latest(times: readonly (Date | null)[]): Date | null {
  return times.reduce((last, at) => (last === null || (at !== null && at > last) ? at : last), null);
}
