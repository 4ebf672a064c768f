import type { Database } from '../../../src/db/connection/database.ts';
import { ackJobs } from '../../../src/db/delivery/ack.ts';
import { accountsOfQueues, type Claim, type ClaimedJob, claim, readable } from '../../../src/db/delivery/claim.ts';
import { forgetConfirmations, leaseLocks, workersWithClaims } from '../../../src/db/delivery/lease-locks.ts';
import { publishAndClaim } from '../../../src/db/delivery/publish.ts';
import type { PublishItem } from '../../../src/db/delivery/publish-items.ts';
import { settle, settleCancelled, settleOverdue } from '../../../src/db/delivery/settle.ts';
import { findJob, jobsPastLifetime, overdueJobs, type StoredJob } from '../../../src/db/delivery/stored-job.ts';
import { eachQueuePage, nextDeadlineMs, queuesWithWork } from '../../../src/db/delivery/wake-ups.ts';
import { extendAckDeadline, runJobNow } from '../../../src/db/jobs/operations.ts';
import { RENEW_BREAKER } from '../../../src/db/queues/breaker.ts';
import { pauseQueue, resumeQueue } from '../../../src/db/queues/operations.ts';
import { deleteQueue } from '../../../src/db/queues/queues.ts';
import { type Author, OPERATOR } from '../../../src/domain/audit.ts';
import { type JobEvent, transition } from '../../../src/domain/transition.ts';
import { NO_CHANGES } from '../../../src/live/live.ts';
import { emptyDeletedQueue, endLifetimes, expireDeadlines, takeBack } from '../../../src/worker/maintenance/recover.ts';
import { CLAIM_BYTES } from '../../support/claim.ts';
import type { Random } from '../random.ts';

const LIFETIME_MS = 30_000;
/** Short, so that keys leave the dedupe window within a sequence. */
const RETENTION_MS = 25_000;
const LEASE_MS = 4000;
/** A worker that has its lease lock on both sides, and no claims. */
export const LOCK_HOLDER = 99;
const PERIODS = { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS };

/** One of the two databases, and the ids that it created, in order. */
export interface Side {
  db: Database;
  accountId: string;
  /** Database time, which both share. */
  now(): number;
  queueNames: string[];
  queueIds: string[];
  jobIds: string[];
  /** Ids of the queues that have a breaker. */
  breakers: Set<string>;
  /** Every claim ever made, also those that were lost since. */
  claims: ClaimedJob[];
}

/** An operation of `src` on a database; drawn once and run on both, with the same result. */
export type Operation = (side: Side) => Promise<unknown>;

function by({ accountId }: Side): Author {
  return { accountId, actor: OPERATOR };
}

function publishSome(random: Random): Operation {
  const items = Array.from({ length: random.int(1, 4) }, () => ({
    queue: random.chance(0.95) ? random.int(0, 1) : 9,
    key: random.chance(0.5) ? random.pick(['a', 'b']) : null,
    delayMs: random.chance(0.6) ? 0 : random.int(0, 6000),
    limit: random.chance(0.9) ? null : random.int(0, 20),
    claimable: random.chance(0.5) ? true : undefined,
  }));
  const wanted = random.chance(0.5) ? [] : random.pick([[0], [1], [0, 1]]);
  const workerId = random.int(1, 3);
  return async (side) => {
    const queues = wanted.map((n) => ({
      queueId: side.queueIds[n] ?? `no queue ${n}`,
      jobs: items.filter(({ queue, claimable }) => queue === n && claimable).length,
      // Worker 3 has a time from a fast clock that is right again.
      since: workerId === 1 ? null : side.now() + (workerId === 2 ? -1000 : 60_000),
    }));
    queues.sort((a, b) => (a.queueId < b.queueId ? -1 : 1));
    const atOnce = queues.length === 0 ? null : { workerId, leaseMs: LEASE_MS, queues };
    const complete = items.map(
      (item): PublishItem => ({
        ...item,
        accountId: side.accountId,
        queue: side.queueNames[item.queue] ?? 'unknown',
        payload: '{}',
      }),
    );
    const { answers, claim: claimed } = await publishAndClaim(side.db, complete, PERIODS, atOnce);
    side.claims.push(...(claimed?.rows ?? []).flatMap((row) => readable(side.db, row)));
    for (const answer of answers) if (answer.outcome === 'created') side.jobIds.push(answer.id);
    const full = claimed?.full.map((id) => side.queueIds.indexOf(id)).sort();
    // Refusals are compared by their outcome only.
    return [full, ...answers.map((answer) => ('id' in answer && answer.id !== null ? answer : answer.outcome))];
  };
}

const accepted: JobEvent = { type: 'answered', outcome: { kind: 'accepted', statusCode: 202 } };
const events: ((random: Random) => JobEvent)[] = [
  () => accepted,
  () => ({ type: 'answered', outcome: { kind: 'failed', statusCode: 500, error: 'HTTP 500' } }),
  (random) => {
    const retryAfterMs = random.pick([0, 1500, 40_000]);
    const statusCode = retryAfterMs === 0 ? 429 : 503;
    return { type: 'answered', outcome: { kind: 'backpressure', statusCode, retryAfterMs } };
  },
  () => ({ type: 'interrupted' }),
  () => ({ type: 'acked' }),
  (random) => ({ type: 'nacked', retryable: random.chance(0.5), reason: random.pick([null, 'no']) }),
  (random) => ({
    type: 'deferred',
    retryAfterMs: random.pick([0, 2500, 3 * 24 * 3600 * 1000]),
    scope: random.pick(['queue', 'job'] as const),
    reason: null,
  }),
];

/** Settles claims, the newest ones mostly, by what they were when they were claimed. */
function settleClaims(random: Random): Operation {
  return settleChosen(
    Array.from({ length: random.int(1, 3) }, () => ({
      back: random.chance(0.8) ? random.int(1, 3) : random.int(1, 20),
      event: random.chance(0.4) ? accepted : random.pick(events.slice(0, 4))(random),
    })),
  );
}

/** Settles what was claimed last, mostly as failed. */
function settleFailures(random: Random): Operation {
  return settleChosen(
    Array.from({ length: 3 }, (_, n) => ({
      back: n + 1,
      event: random.chance(0.2) ? accepted : random.pick(events.slice(1, 4))(random),
    })),
  );
}

function settleChosen(chosen: readonly { back: number; event: JobEvent }[]): Operation {
  return async (side) => {
    const settlements = chosen.flatMap(({ back, event }) => {
      const job = side.claims.at(-back);
      // A worker follows the setting by polling.
      const hasBreaker = job !== undefined && side.breakers.has(job.queueId);
      const decided =
        job && transition(job.state, { ...job.rules, hasBreaker }, event, { now: side.now(), random: 0.5 });
      if (job === undefined || decided == null) return [];
      const answer = { statusCode: 200, durationMs: 5, body: null };
      return [{ id: job.id, expected: 'processing' as const, token: job.token, transition: decided, answer }];
    });
    const once = settlements.filter(({ id }, n) => settlements.findIndex((other) => other.id === id) === n);
    return settle(side.db, once);
  };
}

/** Reads a job and settles the outcome of an event: reports, timeouts, cancellations. */
function settleStored(random: Random): Operation {
  const read = anyJob(random, RETENTION_MS);
  const event: JobEvent = random.chance(0.2)
    ? { type: 'cancelled' }
    : random.pick(random.chance(0.2) ? events : events.slice(4))(random);
  const onlyOverdue = random.chance(0.2);
  return async (side) => {
    const job = await read(side);
    const decided = job && transition(job.state, job.rules, event, { now: side.now(), random: 0.5 });
    if (job === null || decided === null) return job;
    const settlement = { id: job.id, expected: job.state.status, token: job.token, transition: decided, answer: null };
    if (event.type === 'cancelled') return settleCancelled(side.db, by(side), settlement);
    return (onlyOverdue ? settleOverdue : settle)(side.db, [settlement]);
  };
}

/** Acks jobs as their clients would: of any status, of the attempt in flight or another one, some twice. */
function ackSome(random: Random): Operation {
  const chosen = Array.from({ length: random.int(1, 4) }, () => ({
    back: random.chance(0.8) ? random.int(1, 4) : random.int(1, 20),
    attempt: random.chance(0.5) ? undefined : random.int(1, 2),
    isOwn: random.chance(0.9),
  }));
  return (side) => {
    const asked = chosen.map(({ back, attempt, isOwn }) => ({
      id: side.claims.at(-back)?.id ?? 'none',
      attempt,
      accountId: isOwn ? side.accountId : 'another',
    }));
    return ackJobs(side.db, asked);
  };
}

function claimSome(random: Random): Operation {
  const queues = random.pick([[0], [1], [0, 1], [1, 0]]);
  const capacity = random.pick([1, 2, 10]);
  const workerId = random.int(1, 3);
  // Without a draw of its own: the seeds still reach what is rare.
  const agoMs = workerId === 2 ? capacity * 1000 : null;
  return async (side) => {
    const since = agoMs === null ? null : side.now() - agoMs;
    const queueIds = queues.map((queue) => side.queueIds[queue] ?? `no queue ${queue}`);
    const limits = queueIds.map((queueId) => ({ queueId, jobs: capacity, bytes: CLAIM_BYTES, since }));
    const answer = await claim(side.db, { limits, workerId, leaseMs: LEASE_MS });
    const claimed = queueIds.map((id) => answer.get(id) as Claim);
    side.claims.push(...claimed.flatMap(({ jobs }) => jobs));
    return claimed;
  };
}

function onQueue(random: Random): Operation {
  const n = random.int(0, 1);
  const action = random.pick([
    (side: Side, id: string) => pauseQueue(side.db, by(side), id),
    (side: Side, id: string) => resumeQueue(side.db, by(side), id, LIFETIME_MS),
    (side: Side, id: string) => resumeQueue(side.db, by(side), id, LIFETIME_MS),
  ]);
  return (side) => action(side, side.queueIds[n] ?? '');
}

function deleteOne(random: Random): Operation {
  const n = random.int(0, 1);
  return async (side) => {
    const gone = await deleteQueue(side.db, by(side), side.queueIds[n] ?? '');
    if (gone) await emptyDeletedQueue(side.db, side.queueIds[n] ?? '');
    return gone;
  };
}

function onJob(random: Random): Operation {
  const read = anyJob(random, 10 * RETENTION_MS);
  const ms = random.int(1, 5000);
  const extend = random.chance(0.5);
  const stale = random.chance(0.2);
  return async (side) => {
    const job = await read(side);
    if (job === null) return null;
    const seen: StoredJob = stale ? { ...job, token: '0' } : job;
    return extend ? extendAckDeadline(side.db, seen, { ms, progress: null }) : runJobNow(side.db, by(side), seen);
  };
}

/** Reads a job: mostly one that was claimed not long ago, since little can happen to the others. */
function anyJob(random: Random, retentionMs: number): (side: Side) => Promise<StoredJob | null> {
  const n = random.int(0, 12);
  const back = random.chance(0.7) ? random.int(1, 4) : null;
  return (side) => {
    const id = back === null ? side.jobIds[n % side.jobIds.length] : side.claims.at(-back)?.id;
    return findJob(side.db, id ?? 'none', side.accountId, { retentionMs, lifetimeMs: LIFETIME_MS });
  };
}

function recover(random: Random): Operation {
  const n = random.int(0, 1);
  const worker = random.int(1, 3);
  return random.pick<Operation>([
    (side) => expireDeadlines(side.db, side.queueIds[n] ?? ''),
    (side) => expireDeadlines(side.db, side.queueIds[n] ?? ''),
    (side) => takeBack(side.db, [worker], LOCK_HOLDER),
    (side) => forgetConfirmations(side.db, [worker]),
    (side) => endLifetimes(side.db, NO_CHANGES, side.queueIds),
    async (side) => (await overdueJobs(side.db, side.queueIds[n] ?? '', 9)).sort((a, b) => (a.id < b.id ? -1 : 1)),
    async (side) => (await jobsPastLifetime(side.db, side.queueIds, 9)).sort((a, b) => (a.id < b.id ? -1 : 1)),
    (side) => nextDeadlineMs(side.db, side.queueIds[n] ?? ''),
  ]);
}

async function workers(side: Side): Promise<Record<string, Set<number>>> {
  const { held, silent } = await leaseLocks(side.db);
  return { claiming: new Set(await workersWithClaims(side.db)), held, silent: new Set(silent) };
}

const look: Operation = async (side) => {
  const pages: string[] = [];
  for (const kind of ['live', 'deleted'] as const) {
    for await (const page of eachQueuePage(side.db, kind, { after: '' })) pages.push(kind, ...page);
  }
  const { due, overdue } = await queuesWithWork(side.db, side.queueIds);
  const accounts = await accountsOfQueues(side.db, [...side.queueIds, 'no queue']);
  return { pages, due: new Set(due), overdue: new Set(overdue), accounts, ...(await workers(side)) };
};

/** An operation on a queue whose receiver mostly fails. */
export function failingOperation(random: Random): Operation {
  const r = random.next();
  if (r < 0.2) return publishSome(random);
  if (r < 0.5) return claimSome(random);
  return r < 0.9 ? settleFailures(random) : anyOperation(random);
}

/** As changes of the webhooks do. */
export const renewAll: Operation = async (side) => {
  for (const id of side.queueIds) await side.db.query(RENEW_BREAKER, [id]);
};

export function anyOperation(random: Random): Operation {
  const r = random.next();
  if (r < 0.2) return publishSome(random);
  if (r < 0.44) return claimSome(random);
  if (r < 0.63) return settleClaims(random);
  if (r < 0.76) return settleStored(random);
  if (r < 0.79) return ackSome(random);
  if (r < 0.86) return recover(random);
  if (r < 0.9) return onJob(random);
  if (r < 0.96) return onQueue(random);
  if (r < 0.98) return deleteOne(random);
  return look;
}
