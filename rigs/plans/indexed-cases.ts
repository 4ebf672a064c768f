import { ALERT_FACTS, measuredQueues as measuredForAlerts } from '../../src/db/alerts/facts.ts';
import * as selection from '../../src/db/bulk/selection.ts';
import type { Database } from '../../src/db/connection/database.ts';
import { listDeadLetterDocuments, replay } from '../../src/db/dead-letters.ts';
import { claim } from '../../src/db/delivery/claim.ts';
import { workersWithClaims } from '../../src/db/delivery/lease-locks.ts';
import { settle } from '../../src/db/delivery/settle.ts';
import * as stored from '../../src/db/delivery/stored-job.ts';
import { nextDeadlineMs, queuesWithWork } from '../../src/db/delivery/wake-ups.ts';
import { dismissCause } from '../../src/db/dismissals.ts';
import * as measures from '../../src/db/insight/measures.ts';
import { type QueuePart, queueNow } from '../../src/db/insight/queue-now.ts';
import { addQueueUsage, usageByQueue } from '../../src/db/insight/queue-usage.ts';
import { waitingJobs } from '../../src/db/insight/queues.ts';
import { rollUp } from '../../src/db/insight/statistics.ts';
import { accountUsage } from '../../src/db/insight/usage.ts';
import { jobDocuments, listStart } from '../../src/db/jobs/documents.ts';
import { listJobDocuments } from '../../src/db/jobs/list.ts';
import { jobRows, lastAttemptsOfJobs } from '../../src/db/jobs/rows.ts';
import { checkBookmark, queuesWithBookmarks } from '../../src/db/retention/bookmarks.ts';
import * as sweep from '../../src/db/retention/sweep.ts';
import { countDeadLetters, deadLetterRows } from '../../src/db/search/dead-letters.ts';
import { errorGroups } from '../../src/db/search/error-groups.ts';
import { timelineOfJobs } from '../../src/db/search/jobs.ts';
import { firstIdAt } from '../../src/domain/id.ts';
import { CLAIM_BYTES } from '../../test/support/claim.ts';
import {
  DELIVERED,
  type Fixture,
  LEASE_MS,
  PERIODS,
  RETENTION_MS,
  settlementOf,
  type TestQueue,
} from '../../test/support/database-fixture.ts';

export const JOBS = Number(process.env.PLANS_JOBS ?? 1_000_000);

/** Name, the rows and entries of indexes that it may read with `JOBS` jobs, and what it does. */
export type Case = [name: string, bound: number, work: () => Promise<unknown>];

/** The queues of a seeded database. Two of them may be the same one. */
export interface Queues {
  /** Completed jobs, the jobs with the keys `key-77` and so on. */
  completed: TestQueue;
  pending: TestQueue;
  /** Dead jobs, each with a dead letter that is not replayed. */
  dead: TestQueue;
  paused: TestQueue;
  /** Pending jobs that are due. */
  small: TestQueue;
}

export interface Seen {
  fixture: Fixture;
  db: Database;
  q: Queues;
  jobId: string;
  /** Number of dead letters that one call replays. */
  replays: number;
}

const PAGE = { limit: 25, offset: 0 };
const ALL_PARTS = { queue: true, deadLetter: true, waiting: true, cancelledBy: true };
const HOUR = 3_600_000;

/**
 * The statements that may never read a whole table. `npm run rig plans` holds them to their bounds with a million jobs,
 * and `test/db/index-use.test.ts` looks for sequential scans in every run of the tests.
 */
export function indexedCases(seen: () => Seen): Case[] {
  const db = () => seen().db;
  const q = () => seen().q;
  const accountId = () => seen().fixture.accountId;
  const live = () => Object.values(q()).map(({ id }) => id);
  const scope = () => ({ accountId: accountId(), windowMs: RETENTION_MS, periods: PERIODS });
  const part = (queue: keyof Queues, ...parts: QueuePart[]) => partsOf(seen(), q()[queue].id, parts);
  return [
    [
      'publish with keys',
      3000,
      () => seen().fixture.publishAll(q().completed, [{ key: 'key-77' }, { key: `new ${Math.random()}` }, {}]),
    ],
    ['publish one job', 1000, () => seen().fixture.publishJobs(q().completed, 1)],
    ['claim from a backlog and settle', 6000, () => claimAndSettle(seen())],
    ['claim from two queues and settle at once', 3000, () => claimAndSettleTogether(seen())],
    ['check a bookmark', 3000, () => checkedBookmark(seen())],
    ['job documents', 500, () => jobDocuments(db(), [seen().jobId], PERIODS, 2 ** 20)],
    ['where a list begins', 100, () => listStart(db(), q().paused.id, PERIODS)],
    // A first page and its exact number: all ids, by index alone.
    [
      'list all, page 1 and its total',
      JOBS * 0.5 + 25_000,
      () => listJobDocuments(db(), { queueId: q().completed.id, from: new Date(Date.now() - RETENTION_MS) }, PAGE),
    ],
    // Before the replays, whose updates make a count by index read the table.
    ['list dead letters', JOBS * 0.4 + 5000, () => deadLetters(seen(), true)],
    ['list open dead letters', JOBS * 0.4 + 5000, () => deadLetters(seen(), false)],
    ['replay the oldest', JOBS * 0.6, () => replay(db(), replayOf(seen(), null), PERIODS, null)],
    ['a page of dead letters', 5000, () => deadLetterRows(db(), scope(), {}, { ascending: false, limit: 26 })],
    ['count dead letters', 50_000, () => countDeadLetters(db(), scope(), { queueIds: [q().dead.id] }, 10_000)],
    [
      'error groups',
      JOBS * 0.8,
      () => errorGroups(db(), scope(), { queueIds: [q().dead.id] }, { limit: 10, byAnswer: false }),
    ],
    ['dismiss a cause', 1000, () => dismissCause(db(), operatorOf(seen().fixture), 'f'.repeat(16), null)],
    ['depths', JOBS * 1.5 + 25_000, () => part('dead', 'depth')],
    ['uses', 2000, () => part('small', 'use')],
    ['statistics', 60_000, () => part('completed', 'attempts')],
    // As a page asks for them: the same work in one statement.
    [
      'all that a page shows of a queue',
      JOBS * 1.5 + 87_000,
      () => part('dead', 'row', 'depth', 'use', 'attempts', 'published'),
    ],
    ['rows of jobs with what belongs to them', 4000, () => jobRows(db(), accountId(), [seen().jobId], ALL_PARTS)],
    ['last attempts of jobs', 100, () => lastAttemptsOfJobs(db(), accountId(), [seen().jobId])],
    [
      'published jobs over time',
      JOBS * 1.5,
      () => timelineOfJobs(db(), { ...scope(), filter: { queueIds: [q().completed.id] } }, lastDays()),
    ],
    ['why a job waits', 2000, () => waitingJobs(db(), accountId(), [seen().jobId])],
    ['usage', 1000, () => accountUsage(db(), accountId())],
    ['usage by queue', 3000, () => usageByQueue(db(), accountId(), '2026-10', 100)],
    ['usage of queues, from statistics', 400_000, () => addQueueUsage(db(), RETENTION_MS)],
    // Up to so many queues of so many accounts.
    ['measured queues', 5000, () => measures.measuredQueues(db(), 100)],
    [
      'measures of queues',
      60_000,
      () => measures.measuresOfQueues(db(), [q().completed.id, q().dead.id, q().small.id]),
    ],
    ['measures of other queues', 60_000, () => measures.measuresOfOthers(db(), [q().small.id])],
    ['measures of the service', 10_000, () => measures.measuresOfService(db(), RETENTION_MS)],
    ['the facts of alert rules', 60_000, () => alertFacts(seen())],
    ['roll up', 400_000, () => rollUp(db(), RETENTION_MS)],
    ['overdue jobs', 3000, () => stored.overdueJobs(db(), q().small.id, 500)],
    ['next deadline', 3000, () => nextDeadlineMs(db(), q().small.id)],
    ['jobs of dead workers', 3000, () => stored.jobsOfWorkers(db(), [77], 500)],
    ['claiming workers', 3000, () => workersWithClaims(db())],
    ['queues with jobs past their lifetime', 10_000, () => stored.queuesPastLifetime(db(), live())],
    ['jobs past their lifetime', 2000, () => stored.jobsPastLifetime(db(), live().slice(0, 50), 10)],
    ['pending jobs of a deleted queue', 5000, () => stored.pendingJobs(db(), q().pending.id, 500)],
    ['queues with work', 10_000, () => queuesWithWork(db(), live())],
    [
      'a batch of a purge',
      5000,
      async () => stored.jobsByIds(db(), await selection.nextPending(db(), q().pending.id, 'g', 500)),
    ],
    ['sweep jobs', 10_000, () => swept(db(), 'jobs')],
    ['sweep search documents', 10_000, () => swept(db(), 'documents')],
    ['sweep tombstones', 5000, () => sweep.sweepQueues(db(), '')],
  ];
}

export function operatorOf({ accountId }: Fixture) {
  return { accountId, actor: { type: 'operator', id: null, label: 'test' } } as const;
}

/** The parts of a queue, with the attempts and published jobs of the last ten minutes. */
export function partsOf({ fixture, db }: Seen, queueId: string, parts: readonly QueuePart[]) {
  const [first, last] = [Date.now() - 600_000, Date.now()].map(firstIdAt) as [string, string];
  const spans = { firstIds: [first], lastIds: [last] };
  return queueNow(db, fixture.accountId, [queueId], { parts: new Set(parts), spans }, PERIODS);
}

function deadLetters({ db, q }: Seen, includeReplayed: boolean) {
  const from = new Date(Date.now() - RETENTION_MS);
  return listDeadLetterDocuments(db, { queueId: q.dead.id, from, includeReplayed, periods: PERIODS }, PAGE);
}

export function replayOf({ q, replays }: Seen, ids: string[] | null) {
  return { queueId: q.dead.id, ids, max: replays, limit: null };
}

/** Three days, by the hour. */
export function lastDays() {
  const toMs = Math.ceil(Date.now() / HOUR) * HOUR;
  return { fromMs: toMs - 72 * HOUR, toMs, bucketMs: HOUR };
}

async function claimAndSettle({ fixture, q }: Seen): Promise<void> {
  const { jobs } = await fixture.claim(q.small, 5);
  // A claim of nothing proves nothing.
  if (jobs.length !== 5) throw new Error(`${jobs.length} jobs instead of 5`);
  for (const job of jobs) await fixture.settle(job, DELIVERED);
  await fixture.claim(q.pending, 5);
  await fixture.claim(q.paused, 5);
}

/** As a worker does it at a high rate. */
async function claimAndSettleTogether({ db, q }: Seen): Promise<void> {
  const limits = [q.small, q.pending].map(({ id: queueId }) => ({ queueId, jobs: 2, bytes: CLAIM_BYTES, since: null }));
  const claims = await claim(db, { limits, workerId: 1, leaseMs: LEASE_MS });
  const jobs = [...claims.values()].flatMap((one) => one.jobs);
  if (jobs.length < 2) throw new Error(`${jobs.length} jobs instead of 2 at least`);
  const settlements = jobs.map((job) => settlementOf(job, DELIVERED, Date.now()));
  await settle(db, settlements);
}

async function checkedBookmark({ db, q }: Seen): Promise<void> {
  await db.query('select jobferry_set_bookmark($1, jobferry_now())', [q.small.id]);
  await queuesWithBookmarks(db, '', 100);
  if (await checkBookmark(db, q.small.id)) throw new Error('the bookmark was wrong');
}

/** Ten rules of each kind for all queues, and ten for one of them. */
async function alertFacts({ fixture, db, q }: Seen): Promise<void> {
  for (const facts of ALERT_FACTS) {
    const rules = facts.kinds.flatMap((kind) =>
      [null, q.small.id].flatMap((queueId) =>
        Array.from({ length: 10 }, (_, n) => ({
          id: `${kind}-${queueId}-${n}`,
          kind,
          queueId,
          threshold: 1,
          windowSeconds: 3600,
        })),
      ),
    );
    await measuredForAlerts(db, facts, fixture.accountId, rules);
  }
}

function swept(db: Database, what: sweep.SweptById) {
  const range = { after: '', below: sweep.sweepsBelow(Date.now(), PERIODS) };
  return sweep.sweepById(db, what, range, Date.now(), PERIODS);
}
