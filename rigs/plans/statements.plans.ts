import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountByKeyHash, foreignKeyPrefixes, noteKeyUse, revokeApiKey } from '../../src/db/accounts.ts';
import {
  accountsWithRules,
  applyAlertChanges,
  loadAccountOfRules,
  pruneAlerts,
} from '../../src/db/alerts/evaluation.ts';
import { claimNotifications, recordNotification } from '../../src/db/alerts/notifications.ts';
import { deleteAlertRule, rotateAlertSecret, silenceAlertRule, testAlertRule } from '../../src/db/alerts/rules.ts';
import { endAlertTurn, takeAlertTurn } from '../../src/db/alerts/turn.ts';
import * as actions from '../../src/db/bulk/actions.ts';
import { replayBatch, runBatchNow, settleBatch } from '../../src/db/bulk/batches.ts';
import { cancelBulkAction, pauseBulkAction, resumeBulkAction } from '../../src/db/bulk/changes.ts';
import * as selection from '../../src/db/bulk/selection.ts';
import { nextMoments } from '../../src/db/clock-travel.ts';
import { databaseTime } from '../../src/db/connection/clock.ts';
import type { Database, Statement } from '../../src/db/connection/database.ts';
import { notify } from '../../src/db/connection/notifications.ts';
import { SAMPLE } from '../../src/db/connection/replica.ts';
import { isWritable } from '../../src/db/connection/server.ts';
import { jobsOfLetters, replay } from '../../src/db/dead-letters.ts';
import { ackJobs } from '../../src/db/delivery/ack.ts';
import { accountsOfQueues } from '../../src/db/delivery/claim.ts';
import { forgetConfirmations, leaseLocks } from '../../src/db/delivery/lease-locks.ts';
import { publishAudited } from '../../src/db/delivery/publish.ts';
import { settleCancelled, settleLost, settleOverdue } from '../../src/db/delivery/settle.ts';
import * as stored from '../../src/db/delivery/stored-job.ts';
import { eachQueuePage } from '../../src/db/delivery/wake-ups.ts';
import { restoreCause } from '../../src/db/dismissals.ts';
import { accountMarks, WATCHED_LISTS } from '../../src/db/insight/account-marks.ts';
import {
  type InstanceReport,
  ignoredNames,
  removeInstance,
  reportInstance,
  servedAddress,
} from '../../src/db/insight/instances.ts';
import { serviceLags } from '../../src/db/insight/lags.ts';
import { lastAttempts } from '../../src/db/insight/last-attempts.ts';
import { failuresWithin, trailsOf } from '../../src/db/insight/past-failures.ts';
import { jobsAhead, liveQueueIds } from '../../src/db/insight/queues.ts';
import { releaseRuns } from '../../src/db/insight/releases.ts';
import { measuresOfServer } from '../../src/db/insight/server-measures.ts';
import { sinceFailures, succeededWithinSpan } from '../../src/db/insight/since-failures.ts';
import { indexAttempts, rollUp, totalStats } from '../../src/db/insight/statistics.ts';
import { troubledQueues } from '../../src/db/insight/troubled.ts';
import { isLimitReached } from '../../src/db/insight/usage.ts';
import { listStart } from '../../src/db/jobs/documents.ts';
import { listJobDocuments } from '../../src/db/jobs/list.ts';
import { extendAckDeadline, runJobNow } from '../../src/db/jobs/operations.ts';
import { encryptedJobs, payloadHeads, payloadsWithin } from '../../src/db/jobs/payloads.ts';
import { isJobOf, reportHolder } from '../../src/db/jobs/report-holder.ts';
import { operatorsAccountId } from '../../src/db/operator-account.ts';
import { RENEW_BREAKER, setBreaker } from '../../src/db/queues/breaker.ts';
import { beginReceiverCheck } from '../../src/db/queues/check.ts';
import { followedQueues } from '../../src/db/queues/followed.ts';
import { liveQueues, waitingOf } from '../../src/db/queues/live.ts';
import * as operations from '../../src/db/queues/operations.ts';
import { deleteQueue, queueName, queueState } from '../../src/db/queues/queues.ts';
import { lastAnswers } from '../../src/db/queues/receivers.ts';
import { isAuditFull } from '../../src/db/queues/several.ts';
import * as standard from '../../src/db/queues/standard-webhooks.ts';
import * as sweep from '../../src/db/retention/sweep.ts';
import { inSweepTurn, saveSweepPosition, sweepPosition } from '../../src/db/retention/sweep-turn.ts';
import { deleteSavedView, saveView } from '../../src/db/saved-views.ts';
import { presentRelease } from '../../src/db/schema/release.ts';
import { searchAttempts } from '../../src/db/search/attempts.ts';
import { deadLetterRows } from '../../src/db/search/dead-letters.ts';
import { errorGroupsAcrossQueues } from '../../src/db/search/error-groups.ts';
import { indexPayloads, indexWaiting } from '../../src/db/search/index-payloads.ts';
import { groupJobs } from '../../src/db/search/job-groups.ts';
import { countJobs, newestJobs, searchJobs } from '../../src/db/search/jobs.ts';
import { samplePayloads } from '../../src/db/search/payload-sample.ts';
import {
  accountOfLink,
  createSignInLink,
  credentialsInForce,
  endSession,
  endSessionsOfMember,
  endSessionsOfPerson,
  noteSessionUse,
  sessionByHash,
} from '../../src/db/sessions.ts';
import { type Fixture, LIFETIME_MS, openFixture, PERIODS, RETENTION_MS } from '../../test/support/database-fixture.ts';
import { SETTINGS } from '../../test/support/process-settings.ts';
import {
  type Case,
  indexedCases,
  JOBS,
  lastDays,
  operatorOf,
  partsOf,
  type Queues,
  replayOf,
} from './indexed-cases.ts';
import { backUp, deletionCases, operatorCases, type SeenWithOthers } from './operator-cases.ts';
import { LARGE_ACTION, type Others, SMALL_ACTION, seed } from './seed.ts';
import { tunnelCases } from './tunnel-cases.ts';

/**
 * Every statement of the service against a large database, ten times on one connection and ten times with the plan that
 * a connection keeps. The server counts the rows and index entries that were read, also by the SQL functions; a
 * statement that reads more than its answer needs fails. Counting plans does not show a quadratic comparison in memory,
 * so the kept plan must not take much longer than the others either.
 */
let fixture: Fixture;
let db: Database;
let q: Queues;
let others: Others;
let job: stored.StoredJob;
const executed = new Set<string>();
let isPlanKept = false;
const NONE = '0'.repeat(24);

beforeAll(async () => {
  fixture = await openFixture();
  ({ db } = fixture);
  db.pool.options.max = 1;
  ({ queues: q, others } = await seed(fixture));
  await db.query(
    `insert into audit_entry (account_id, actor_type, actor_label, action, target_type, target_id)
     select $1, 'operator', 'operator', 'queue.pause', 'queue', n::text from generate_series(1, 600) n`,
    [by().accountId],
  );
  const query = db.query.bind(db);
  db.query = (async (statement: Statement | string, values?: unknown[]) => {
    if (typeof statement !== 'string') executed.add(statement.name);
    // A statement without a name is planned each time.
    else if (isPlanKept) await query('reset plan_cache_mode');
    try {
      return await query(statement, values);
    } finally {
      if (isPlanKept) await query('set plan_cache_mode = force_generic_plan');
    }
  }) as typeof query;
  const [first] = await stored.pendingJobs(db, q.small.id, 1);
  if (first === undefined) throw new Error('no job');
  job = first;
});

// The calls of a case replay half of the dead jobs at most.
const replays = Math.min(1000, JOBS * 0.005);
const seen = (): SeenWithOthers => ({ fixture, db, q, others, jobId: job.id, replays });
const periods = PERIODS;
const by = () => operatorOf(fixture);
const scope = () => ({ accountId: fixture.accountId, windowMs: RETENTION_MS, periods });
const jobs = (filter: object) => ({ accountId: fixture.accountId, filter, windowMs: RETENTION_MS, periods });
const page = { limit: 25, offset: 0 };
const NEWEST = { field: 'created_at', descending: true } as const;
const SLOWEST = { field: 'duration', descending: true } as const;
const range = { after: '', before: 'g', limit: 500 };
const from = new Date(Date.now() - RETENTION_MS);
const listed = (queue: keyof Queues, filter: object = {}, slice = page) =>
  listJobDocuments(db, { queueId: q[queue].id, from, ...filter }, slice);
/** From before retention, as those see the list whose plan shows all that is kept. */
const listedWithKept = async (filter: object, slice = page) => {
  const { now, oldestKept } = await listStart(db, q.paused.id, periods);
  if (oldestKept === null) throw new Error('no job is kept');
  const kept = { youngFrom: new Date(now.getTime() - RETENTION_MS), periods };
  return listJobDocuments(db, { queueId: q.paused.id, from: oldestKept, kept, ...filter }, slice);
};
const replayable = (filter: object, jobsOf: object | null = null) => ({
  accountId: fixture.accountId,
  queueId: q.dead.id,
  filter,
  jobs: jobsOf,
  periods,
});
const running = async () => {
  const id = await actions.startBulkAction(db, by(), {
    kind: 'replay_dead_letters',
    queueId: q.dead.id,
    selection: {},
    ratePerSecond: null,
    canary: false,
    matched: 1,
  });
  const action = await actions.readRunningAction(db, id ?? '');
  if (action === null) throw new Error('not started');
  return action;
};

const CASES: Case[] = [
  ['publish, audited', 3000, () => publishAudited(db, by(), [published()], { periods, single: true })],
  ['the clock', 0, () => databaseTime(db)],
  ['an account by its key', 20, () => accountByKeyHash(db, ['f'.repeat(64), 'e'.repeat(64)])],
  ['the queue of a job', 40, () => queueName(db, by().accountId, { jobId: job.id })],
  ['the name of a queue', 20, () => queueName(db, by().accountId, { queueId: q.small.id })],
  ['note the use of a key', 20, () => noteKeyUse(db, NONE)],
  ['a session by its token', 20, () => sessionByHash(db, 'f'.repeat(64))],
  ['note the use of a session', 20, () => noteSessionUse(db, NONE)],
  ['keys and sessions in force', 40, () => credentialsInForce(db, [NONE])],
  ['end a session', 20, () => endSession(db, by(), NONE)],
  ['end the sessions of a member', 20, () => endSessionsOfMember(db, by(), NONE)],
  ['end the sessions of a person', 20, () => endSessionsOfPerson(db, by().accountId, { issuer: 'x', subject: 'y' })],
  // One row of the account, and the links that were not used yet.
  ['create a link to sign in', 200, () => createSignInLink(db, null, randomBytes(32).toString('hex'), 60_000)],
  ['the account of a link', 20, () => accountOfLink(db, 'f'.repeat(64))],
  ["the operator's account", 20, () => operatorsAccountId(db)],
  ['the release of the database', 5, () => presentRelease(db)],
  ['how keys of others begin', 100, () => foreignKeyPrefixes(db)],
  ['accounts of queues', 200, () => accountsOfQueues(db, live())],
  ['whether the server takes writes', 0, () => isWritable(db)],
  ['revoke a key', 20, () => revokeApiKey(db, by().actor, by().accountId, NONE)],
  ['payloads within', 500, () => payloadsWithin(db, by().accountId, [job.id], 1e6)],
  ['jobs that are encrypted', 500, () => encryptedJobs(db, [job.id])],
  ['sizes and heads of payloads', 500, () => payloadHeads(db, by().accountId, [job.id], 200)],
  // A first page and its exact number: all ids, by index alone.
  // The first time, its jobs are counted as well.
  ['list completed jobs of a queue', JOBS + 25_000, () => listed('completed', { status: 'completed' })],
  ['list all, far page', JOBS * 0.5 + 25_000, () => listed('completed', {}, { limit: 25, offset: JOBS * 0.4 })],
  ['list few', 60_000, () => listed('small')],
  ['list dead jobs', JOBS * 0.4 + 25_000, () => listed('dead', { status: 'dead' })],
  ['list pending jobs', JOBS * 0.4 + 25_000, () => listed('pending', { status: 'pending' })],
  ['list processing jobs', 50_000, () => listed('completed', { status: 'processing' })],
  ['list awaiting_ack jobs', 50_000, () => listed('completed', { status: 'awaiting_ack' })],
  ['list by a rare key', JOBS * 0.5 + 25_000, () => listed('completed', { idempotencyKey: 'KEY-12345' })],
  ['list by a frequent key', JOBS * 1.5 + 25_000, () => listed('completed', { idempotencyKey: 'key-' })],
  ['where a list of young jobs begins', 100, () => listStart(db, q.completed.id, periods)],
  // Each is read, to count it; and again up to the requested page.
  ['list kept jobs', JOBS * 0.3 + 5000, () => listedWithKept({})],
  ['list kept jobs, far page', JOBS * 0.5 + 5000, () => listedWithKept({}, { limit: 25, offset: JOBS * 0.09 })],
  ['list kept dead jobs', JOBS * 0.3 + 5000, () => listedWithKept({ status: 'dead' })],
  // In some plans each is read once more.
  ['list kept jobs by a rare key', JOBS * 0.65 + 5000, () => listedWithKept({ idempotencyKey: 'KEY-1234' })],
  [
    'replay by id, audited',
    JOBS * 0.25,
    () => replay(db, replayOf(seen(), [NONE]), periods, { by: by(), single: true }),
  ],
  ['jobs of dead letters', 200, () => jobsOfLetters(db, [NONE])],
  [
    'find jobs by state',
    100_000,
    () =>
      searchJobs(
        db,
        jobs({ statuses: ['dead'], queueIds: [q.dead.id] }),
        { field: 'created_at', descending: true },
        { limit: 26, inverted: false },
      ),
  ],
  ['count jobs', 60_000, () => countJobs(db, jobs({ queueIds: [q.completed.id] }), 10_000)],
  [
    'sample payloads',
    10_000,
    () => samplePayloads(db, { accountId: by().accountId, queueId: null, windowMs: RETENTION_MS }),
  ],
  [
    'find jobs by waiting reason',
    50_000,
    () =>
      searchJobs(db, jobs({ waitReasons: ['held'], queueIds: [q.small.id] }), NEWEST, { limit: 26, inverted: false }),
  ],
  [
    'find the jobs of a small bulk action',
    200,
    () => searchJobs(db, jobs({ actionId: SMALL_ACTION }), NEWEST, { limit: 26, inverted: false }),
  ],
  [
    'count the jobs of a small bulk action',
    200,
    () => groupJobs(db, jobs({ actionId: SMALL_ACTION }), ['state', 'dead_reason'], null),
  ],
  // One more than the candidates of a search, with their jobs, and then the newest jobs of all. Those are the 20 000
  // that the replays above have created.
  [
    'find the jobs of a large bulk action',
    200_000,
    () => searchJobs(db, jobs({ actionId: LARGE_ACTION }), NEWEST, { limit: 26, inverted: false }),
  ],
  // Each pending job and its index entry, and each entry once more for the ends of the parts of the walk; before that,
  // one more than the candidates of a search. By the index of pending jobs or that of keys, each part would read all of
  // them.
  [
    'find pending jobs that no key matches',
    JOBS * 0.65 + 25_000,
    () =>
      searchJobs(
        db,
        jobs({ statuses: ['pending'], idempotencyKeyContains: 'none', queueIds: [q.pending.id] }),
        NEWEST,
        { limit: 26, inverted: false },
      ),
  ],
  [
    'newest jobs by a frequent key',
    5000,
    () => newestJobs(db, jobs({ idempotencyKeyContains: 'key-', queueIds: [q.completed.id] }), 5),
  ],
  [
    'find attempts',
    JOBS * 1.2 + 25_000,
    () => searchAttempts(db, scope(), { queueIds: [q.dead.id] }, SLOWEST, { limit: 26, inverted: false }),
  ],
  ['count by queue and state', JOBS * 3, () => groupJobs(db, jobs({}), ['queue', 'state'], null)],
  // One job is found, and all dead ones are passed, as in the walk above.
  [
    'next of a replay of jobs',
    JOBS * 0.65 + 25_000,
    () => selection.nextReplayable(db, replayable({}, { idempotencyKeyContains: `key-${JOBS * 0.15}` }), range),
  ],
  ['index payloads', 20_000, () => indexPayloads(db, 500)],
  ['index payloads of an account', 5000, () => indexWaiting(db, { max: 500, bytes: 1e6, pauseMs: 0, giveUp: false })],
  [
    'error groups across queues, by answer, new ones',
    JOBS * 1.2,
    () => errorGroupsAcrossQueues(db, scope(), {}, { limit: 10, byAnswer: true, newSince: from }),
  ],
  ['rows of queues', 200, () => partsOf(seen(), q.small.id, ['row'])],
  // As a page asks for them: the same work in one statement.
  ['jobs published in ten minutes', JOBS * 0.2, () => partsOf(seen(), q.completed.id, ['attempts', 'published'])],
  ['live queues', 500, () => liveQueueIds(db, by().accountId)],
  ['jobs ahead', 5000, () => jobsAhead(db, by().accountId, [job.id])],
  ['marks of lists', 2000, () => accountMarks(db, by().accountId, new Set(WATCHED_LISTS))],
  // All wake-ups, of which there is one for each queue without jobs here.
  ['lags', 10_000, () => serviceLags(db, by().accountId, RETENTION_MS)],
  // Up to so many queues of so many accounts.
  ['index attempts', 5000, () => indexAttempts(db)],
  ['stored jobs', 500, () => stored.findJobs(db, [job.id], periods)],
  ['a page of queues', 5000, () => firstPage('live')],
  ['a page of tombstones', 5000, () => firstPage('deleted')],
  ['lease locks', 500, () => leaseLocks(db)],
  ['forgetting confirmed locks', 500, () => forgetConfirmations(db, [77])],
  ['the turn of a sweep', 50, sweepTurn],
  ['sweep dead letters', 5000, () => sweep.sweepDeadLetters(db, NONE)],
  ['sweep statistics', 5000, () => sweep.sweepByTime(db, 'statistics', Date.now(), periods)],
  [
    'save a view',
    1000,
    () => saveView(db, by(), { page: 'jobs', name: `view ${Math.random()}`, query: 'q=state:dead' }),
  ],
  ['delete a saved view', 50, () => deleteSavedView(db, by(), NONE)],
  ['restore a cause', 200, () => restoreCause(db, by(), 'f'.repeat(16))],
  [
    'dead letters that are not dismissed',
    5000,
    () => deadLetterRows(db, scope(), { dismissed: false }, { ascending: false, limit: 26 }),
  ],
  // A page of a hundred accounts has fifty rules of each.
  ['an evaluation of alert rules and its notification', 7000, alertEvaluation],
  ['sweep alerts', 100, () => sweep.sweepByTime(db, 'alerts', Date.now(), periods)],
  ['sweep sessions', 100, () => sweep.sweepByTime(db, 'sessions', Date.now(), periods)],
  ['sweep audit entries and dismissals', 5000, () => sweep.sweepByTime(db, 'audit', Date.now(), periods)],
  ['sweep bulk actions', 5000, () => sweep.sweepByTime(db, 'bulkActions', Date.now(), periods)],
  ['count what a purge is about', JOBS * 0.25, () => selection.countPending(db, q.pending.id)],
  ['count what a replay is about', JOBS * 0.5, () => selection.countReplayable(db, replayable({}))],
  ['next of a bulk replay', 120_000, () => selection.nextReplayable(db, replayable({ errorContains: 'none' }), range)],
  ['whether a limit is reached', 50, () => isLimitReached(db, by().accountId, 1000)],
  ['a bulk action from start to end', 15_000, bulkAction],
  ['idle bulk actions', 2000, () => actions.idleBulkActions(db, 5000)],
  ['an ack', 500, () => ackJobs(db, [{ id: job.id, accountId: by().accountId, attempt: undefined }])],
  [
    'the account and the queue of a report without a key, and its job',
    60,
    async () => {
      await reportHolder(db, q.small.id);
      await isJobOf(db, job.id, q.small.id);
    },
  ],
  ['the next moments of a clock that is moved', 5000, () => nextMoments(db, by().accountId)],
  ['run a job now', 500, () => runJobNow(db, by(), { ...job, id: NONE })],
  ['extend an ack', 500, () => extendAckDeadline(db, { ...job, id: NONE }, { ms: 1, progress: null })],
  ['cancel a job', 500, () => settleCancelled(db, by(), cancellation())],
  ['settle overdue', 500, () => settleOverdue(db, [cancellation()])],
  ['settle what dead workers claimed', 500, () => settleLost(db, 77, [cancellation()])],
  ['state of a queue', 200, () => queueState(db, by().accountId, q.small.id)],
  ['pause a queue', 200, () => operations.pauseQueue(db, by(), NONE)],
  ['resume a queue', 200, () => operations.resumeQueue(db, by(), NONE, LIFETIME_MS)],
  ['live queues of an account', 200, () => liveQueues(db, by().accountId)],
  ['last answers of receivers', 1500, () => lastAnswers(db, by().accountId, [q.pending.id, q.small.id])],
  ['waiting jobs of several queues', 11_000, () => waitingOf(db, by().accountId, [q.pending.id, NONE])],
  ['rotate a secret', 200, () => operations.rotateSigningSecret(db, by(), NONE, { secret: 'x', overlapMs: 0 })],
  [
    'begin the check of a receiver',
    200,
    () => beginReceiverCheck(db, by(), NONE, { action: 'queue.check_receiver', perMinute: 10 }),
  ],
  ['finish a rotation', 200, () => operations.finishSecretRotation(db, by(), NONE)],
  ['end a hold', 500, endHold],
  // 501 entries of the index, and the rows behind them, which no vacuum has seen.
  ['changes of a day, up to their bound', 1100, auditFull],
  ['encrypt payloads', 200, () => operations.switchQueue(db, by(), NONE, 'payloadsEncrypted', false)],
  ['set a breaker', 200, () => setBreaker(db, by(), NONE, null)],
  ['renew a breaker', 200, () => db.query(RENEW_BREAKER, [NONE])],
  ['switch Standard Webhooks headers', 200, () => operations.switchQueue(db, by(), NONE, 'standardWebhooks', false)],
  ['signing secrets of a queue', 200, () => standard.signingSecretsOf(db, by().accountId, q.small.id)],
  ['queues whose settings a worker follows', 50, () => followedQueues(db, null)],
  ['delete a queue', 200, () => deleteQueue(db, by(), NONE)],
  ['report an instance', 50, async () => removeInstance(db, (await reportInstance(db, null, INSTANCE)).id)],
  ['releases that ran', 100, () => releaseRuns(db)],
  ['ignored names', 50, () => ignoredNames(db, by().accountId, ['a'])],
  ['where a process serves', 50, () => servedAddress(db)],
  ['measures of the server', 2000, () => measuresOfServer(db)],
  ['the positions of a replica', 10, () => db.query(SAMPLE)],
  ['notify', 0, () => notify(db, 'none', ['x'])],
];

/** When all attempts are in the statistics, as they are a few seconds after they ended. */
const ROLLED_UP: Case[] = [
  // Attempts of five minutes.
  ['last attempts', 60_000, () => lastAttempts(db, by().accountId, live(), RETENTION_MS)],
  ['last attempt of all', 60_000, () => lastAttempts(db, by().accountId, null, RETENTION_MS)],
  ['last failures of queues', 60_000, () => sinceFailures(db, by().accountId, live(), RETENTION_MS)],
  ['last spans of failed queues', 2000, () => trailsOf(db, by().accountId, live(), RETENTION_MS)],
  ['last spans of queues', 2000, () => trailsOf(db, by().accountId, live(), RETENTION_MS, true)],
  [
    'last failures within spans',
    60_000,
    () =>
      failuresWithin(
        db,
        by().accountId,
        live().map((queueId) => ({ queueId, spanMs: Math.floor(Date.now() / 300_000) * 300_000 })),
      ),
  ],
  ['successes after a failure', 60_000, () => succeededWithinSpan(db, by().accountId, live(), new Date())],
  // It reads each queue's oldest due job, and the statistics of an hour.
  ['queues by their trouble', 2000, () => troubledQueues(db, by().accountId, null, 10, RETENTION_MS)],
  [
    'statistics of the account, three days',
    60_000,
    () => totalStats(db, by().accountId, live(), gridOfDays(), RETENTION_MS),
  ],
];

function gridOfDays() {
  const { fromMs: startMs, bucketMs } = lastDays();
  return { startMs, bucketMs, count: 72 };
}

function published() {
  return { accountId: fixture.accountId, queue: q.completed.name, payload: '{}', key: null, delayMs: 0, limit: null };
}

const live = () => Object.values(q).map(({ id }) => id);

async function firstPage(kind: 'live' | 'deleted'): Promise<void> {
  for await (const _page of eachQueuePage(db, kind, { after: '' })) return;
}

async function auditFull(): Promise<void> {
  expect(await isAuditFull(db, by().accountId, 500)).toBe(true);
}

async function endHold(): Promise<void> {
  await db.query(`update queue set hold_until = jobferry_now() where id = $1`, [q.pending.id]);
  await operations.endHold(db, by(), q.pending.id);
}

const CONTENT = { type: 'test', createdAt: '', alerts: [], others: 0 } as const;

async function alertEvaluation(): Promise<void> {
  const { accountId } = by();
  const id = `r${Date.now()}`;
  await db.query(
    `insert into alert_rule (id, account_id, kind, threshold, window_seconds, for_seconds, webhook_url, format, signing_secret)
     values ($1, $2, 'usage', 80, 0, 0, 'http://127.0.0.1:9/', 'slack', 's')`,
    [id, accountId],
  );
  await takeAlertTurn(db, 'plans', null);
  await accountsWithRules(db, '', 100);
  await loadAccountOfRules(db, accountId, RETENTION_MS);
  const found = { ruleId: id, queueId: null, queueName: null, value: 1, cause: 'c' };
  const content = { ...CONTENT, rule: { id, kind: 'usage', queue: null, threshold: 80, windowSeconds: null } } as const;
  const changes = { rules: [{ id, problem: null }], begun: [found], updated: [], forgotten: [] };
  const notifications = [{ ruleId: id, content }];
  await applyAlertChanges(db, 'plans', { accountId, nowMs: Date.now() }, { ...changes, notifications });
  await pruneAlerts(db, accountId);
  for (const claimed of await claimNotifications(db, 16, [], 60_000)) {
    await recordNotification(db, claimed, { isSent: true, retryMs: null, statusCode: 200, error: null });
  }
  await silenceAlertRule(db, by(), id, null);
  await rotateAlertSecret(db, by(), id, 'secret');
  await testAlertRule(db, by(), { id, kind: 'usage' }, content);
  await deleteAlertRule(db, by(), id);
  await endAlertTurn(db, 'plans');
}

async function sweepTurn(): Promise<void> {
  await saveSweepPosition(db, 'jobs', await sweepPosition(db, 'jobs'));
  // A turn has a connection of its own.
  db.pool.options.max = 2;
  await inSweepTurn(db, 0, async () => undefined);
  db.pool.options.max = 1;
}

const INSTANCE: InstanceReport = {
  role: 'api',
  version: '0',
  inFlight: 0,
  capacity: 0,
  clockOffsetSeconds: null,
  address: null,
  ignored: [],
  settings: SETTINGS,
};

function cancellation() {
  const transition = { state: job.state, entry: null, deadReason: null, waitMs: null, effect: null };
  return { id: NONE, expected: 'pending', token: 0, transition, answer: null } as never;
}

async function bulkAction(): Promise<void> {
  const action = await running();
  await actions.accountOfBulkAction(db, action.id);
  await actions.keepBulkActions(db, [action.id]);
  await actions.noteCanaryCompleted(db, action.id);
  await actions.noteBulkStep(db, action.id, 'its search took too long');
  await replayBatch(db, action, { ids: [NONE], position: NONE, limit: null }, periods);
  await actions.advanceBulkAction(db, { ...action, processed: 1 }, 'f');
  await settleBatch(db, { ...action, processed: 1 }, [NONE], []);
  await runBatchNow(db, { ...action, processed: 2 }, [NONE]);
  await actions.finishBulkAction(db, { ...action, processed: 3 }, null);
  await pauseBulkAction(db, by(), action.id);
  await resumeBulkAction(db, by(), action.id);
  await cancelBulkAction(db, by(), action.id);
  await actions.bulkActionStatus(db, by().accountId, action.id);
}

/** Rows and entries of indexes that were read so far, by table. */
async function readSoFar(): Promise<Map<string, number>> {
  await db.query('select pg_stat_force_next_flush()');
  const tables = await db.query<{ name: string; rows: number }>(`
    select t.relname as name,
           (t.seq_tup_read + coalesce(t.idx_tup_fetch, 0) + coalesce(i.entries, 0))::float8 as rows
      from pg_stat_user_tables t
      left join (select relid, sum(idx_tup_read) as entries from pg_stat_user_indexes group by 1) i using (relid)`);
  return new Map(tables.map(({ name, rows }) => [name, rows]));
}

interface Reads {
  rows: number;
  /** The tables that were read most. */
  tables: string;
}

async function readsOf(work: () => Promise<unknown>): Promise<Reads> {
  const before = await readSoFar();
  await work();
  const read = [...(await readSoFar())].map(([name, rows]) => ({ name, rows: rows - (before.get(name) ?? 0) }));
  const most = read.sort((one, other) => other.rows - one.rows).slice(0, 3);
  return {
    rows: read.reduce((sum, { rows }) => sum + rows, 0),
    tables: most.map(({ name, rows }) => `${name} ${rows}`).join(', '),
  };
}

/** The most that one of ten calls read, and the least that one took. */
async function measure(work: () => Promise<unknown>): Promise<Reads & { ms: number }> {
  let most: Reads = { rows: 0, tables: '' };
  let ms = Number.POSITIVE_INFINITY;
  for (let call = 0; call < 10; call += 1) {
    const reads = await readsOf(async () => {
      const startedAt = performance.now();
      await work();
      ms = Math.min(ms, performance.now() - startedAt);
    });
    if (reads.rows > most.rows) most = reads;
  }
  return { ...most, ms };
}

const measured: string[] = [];
afterAll(() => console.log(measured.join('\n')));

async function check([name, bound, work]: Case): Promise<void> {
  isPlanKept = false;
  await db.query('reset plan_cache_mode');
  const usual = await measure(work);
  isPlanKept = true;
  const kept = await measure(work);
  measured.push(
    `${name}: ${usual.rows} rows ${usual.ms.toFixed(1)} ms, kept plan ${kept.rows} rows ${kept.ms.toFixed(1)} ms`,
  );
  for (const { rows, tables } of [usual, kept]) expect(rows, tables).toBeLessThanOrEqual(bound);
  expect(kept.ms).toBeLessThan(Math.max(usual.ms, 25) * 4);
}

describe(`with ${JOBS} jobs`, () => {
  it.each([...indexedCases(seen), ...CASES, ...tunnelCases(seen), ...operatorCases(seen)])('%s', (...one) =>
    check(one),
  );

  it('rolls up the rest', async () => {
    while (await rollUp(db, RETENTION_MS)) {
      // Step by step, as the workers do it.
    }
  });

  it.each(ROLLED_UP)('%s', (...one) => check(one));

  it('a backup reads no row more often than a few times', async () => {
    let rows = 0;
    const { rows: read, tables } = await readsOf(async () => {
      rows = await backUp(seen());
    });
    measured.push(`a backup of ${rows} rows: ${read} rows`);
    // The index entry and the row of each, those of jobs twice, and the entries of pages that end within an account.
    expect(read, tables).toBeLessThanOrEqual(rows * 6);
  });

  // They remove rows, so they are last.
  it.each(deletionCases(seen))('%s', (...one) => check(one));

  it('every statement has a case', async () => {
    const folder = new URL('../../src/db/', import.meta.url);
    const names: string[] = [];
    for (const file of (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'))) {
      const text = await readFile(new URL(file, folder), 'utf8');
      for (const [, , name = ''] of text.matchAll(/\bname: (['`])([^'`]+)\1,\s*text:/g)) names.push(name);
    }
    expect(names.length).toBeGreaterThan(70);
    const isExecuted = (name: string) => {
      const pattern = new RegExp(`^${name.replace(/\$\{\w+\}/g, '.+')}$`);
      return [...executed].some((one) => pattern.test(one));
    };
    expect(names.filter((name) => !isExecuted(name) && !(name in WITHOUT_CASE))).toEqual([]);
  });
});

const WITHOUT_CASE: Record<string, true> = {
  // Once in the life of a process, under the lock of migrations, over the queues and alert rules.
  'secrets-otherwise-stored': true,
  'rewrite-secrets': true,
  'alert-secrets-otherwise-stored': true,
  'rewrite-alert-secrets': true,
  'needed-keys': true,
  // On the connection of a lease lock: a row by its primary key.
  'confirm-lease': true,
  'confirm-lease-at-rest': true,
};
