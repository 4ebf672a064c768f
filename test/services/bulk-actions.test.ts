import { beforeAll, describe, expect, it } from 'vitest';
import { databaseTime } from '../../src/db/connection/clock.ts';
import { settle } from '../../src/db/delivery/settle.ts';
import { sweepByTime } from '../../src/db/retention/sweep.ts';
import type { Account } from '../../src/domain/account.ts';
import { JobferryError } from '../../src/domain/errors.ts';
import type { DeadLetterFilter } from '../../src/domain/job-filter.ts';
import { DEFAULT_PLANS, type Plan } from '../../src/domain/plan.ts';
import type { BulkReplayInput } from '../../src/services/bulk/request.ts';
import type { CreateQueueInput } from '../../src/services/queues/manage.ts';
import { runBulkAction } from '../../src/worker/bulk/run.ts';
import { createAccount } from '../support/account.ts';
import { bulkRow, insertDeadLetters, replaysOf } from '../support/bulk.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { DELIVERED, FAILED, settlementOf } from '../support/database-fixture.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** The test itself is the worker: it does one batch after another. */
let op: TestServices;
let account: Account;
let foreign: Account;
let names = 0;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  account = await op.firstAccount();
  foreign = { ...account, id: (await createAccount(url)).id };
});

const PRO = DEFAULT_PLANS.pro as Plan;

function createQueue(settings: Partial<CreateQueueInput> = {}, of = account) {
  names += 1;
  return op.queues.create(of, { name: `queue-${names}`, webhookUrl: 'http://127.0.0.1:9/', ...settings });
}

function input(queueId: string, changes: Partial<BulkReplayInput> = {}): BulkReplayInput {
  return { queueId, filter: {}, jobs: null, all: true, ratePerSecond: null, canary: false, ...changes };
}

const row = (actionId: string) => bulkRow(op.db, actionId);

/** Takes steps until the action has ended, or so many; returns the result of each. */
async function run(actionId: string, steps = 50): Promise<(number | null)[]> {
  const said: (number | null)[] = [];
  while (said.length < steps && said.at(-1) !== null) said.push(await runBulkAction(op.context, actionId));
  return said;
}

/** Jobs of a queue, as the worker 1 takes them. */
function take(queueId: string, capacity = 1000) {
  return claimOf(op.db, queueId, capacity);
}

async function deliver(queueId: string, event = DELIVERED): Promise<void> {
  const { jobs } = await take(queueId);
  await settle(
    op.db,
    jobs.map((job) => settlementOf(job, event, Date.now())),
  );
}

async function publish(queueName: string, count: number): Promise<string[]> {
  const published = Array.from({ length: count }, () => op.jobs.publish(account, queueName, { payload: '{}' }));
  return (await Promise.all(published)).map(({ job }) => job.id).sort();
}

async function statuses(queueId: string): Promise<Record<string, number>> {
  const rows = await op.db.query<{ status: string; n: number }>(
    'select status, count(*) as n from job where queue_id = $1 group by status',
    [queueId],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

async function refused(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof JobferryError)) throw error;
  return `${error.kind}: ${error.message}`;
}

describe('startReplay', () => {
  it('keeps the action, its wake-up and its entry in the audit log', async () => {
    const queue = await createQueue();
    await insertDeadLetters(op.db, queue.id, 2);
    const filter: DeadLetterFilter = { errorContains: 'http 5', dead: { from: new Date(0) } };
    const id = await op.bulk.startReplay(
      account,
      input(queue.id, { filter, all: false, ratePerSecond: 7, canary: true }),
    );
    const selection = { errorContains: 'http 5', dead: { from: '1970-01-01T00:00:00.000Z' } };
    expect(await row(id)).toMatchObject({
      queue_id: queue.id,
      kind: 'replay_dead_letters',
      status: 'running',
      selection,
      rate_per_second: 7,
      matched: 2,
      processed: 0,
      requested_by: 'jf_abc…wxyz',
    });
    const wakeUp = await op.db.query('select task_identifier from graphile_worker.jobs where key = $1', [`bulk:${id}`]);
    expect(wakeUp).toEqual([{ task_identifier: 'bulk' }]);
    const [, entry] = await op.auditOf(queue.id);
    expect(entry).toMatchObject({
      action: 'dead_letters.replay',
      target_name: queue.name,
      after: { actionId: id, filter: selection, ratePerSecond: 7, canary: true, matched: 2 },
    });
    expect(op.changes.at(-1)).toEqual({ accountId: account.id, actionId: id, queueId: queue.id });
  });

  it.each<[string, Partial<BulkReplayInput>, RegExp]>([
    ['an empty filter', { all: false }, /^invalid_request: .*all: true/],
    ['an empty filter of jobs', { all: false, jobs: {} }, /^invalid_request: .*all: true/],
    ['a filter that only says what is so anyway', { all: false, filter: { replayed: false } }, /all: true/],
    ['what was replayed', { filter: { replayed: true } }, /^invalid_request/],
    ['jobs that cannot be replayed', { jobs: { replayable: false } }, /^invalid_request: .*cannot be replayed/],
    ['a rate of 0', { ratePerSecond: 0 }, /^invalid_request: ratePerSecond/],
    ['half a job a second', { ratePerSecond: 0.5 }, /^invalid_request: ratePerSecond/],
    ['NUL', { filter: { errorContains: '\0' } }, /^invalid_request/],
    ['an unknown queue', { queueId: UNKNOWN_ID }, /^not_found: queue not found$/],
    ['what is no id', { queueId: 'x' }, /^not_found: queue not found$/],
  ])('refuses %s, dry or not', async (_what, changes, message) => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 1);
    expect(await refused(op.bulk.startReplay(account, input(id, changes)))).toMatch(message);
    expect(await refused(op.bulk.countReplay(account, input(id, changes)))).toMatch(message);
  });

  it("does not know another account's queue, and reports that a deleted one is gone", async () => {
    const theirs = await createQueue({}, foreign);
    expect(await refused(op.bulk.startReplay(account, input(theirs.id)))).toBe('not_found: queue not found');
    expect(await refused(op.bulk.startPurge(account, theirs.id))).toBe('not_found: queue not found');
    const { id } = await createQueue();
    await op.queues.delete(account, id);
    expect(await refused(op.bulk.startReplay(account, input(id)))).toMatch(/^gone/);
    expect(await refused(op.bulk.startPurge(account, id))).toBe('not_found: queue not found');
  });

  it('is refused for a range of time whose end is before its start', async () => {
    const dead = { from: new Date(2), to: new Date(1) };
    expect(await refused(op.bulk.countReplay(account, input('', { queueId: null, filter: { dead } })))).toBe(
      'invalid_request: dead: from must not be after to',
    );
  });

  it('is refused once too many are running or paused', async () => {
    const { url } = await createTestDatabase();
    const own = openServices(url);
    await own.db.query(`insert into account (name, plan) values ('test', 'pro')`);
    const busy = await own.firstAccount();
    const { id } = await own.queues.create(busy, { name: 'q', webhookUrl: 'http://127.0.0.1:9/' });
    for (let n = 1; n <= 20; n += 1) {
      const action = await own.bulk.startPurge(busy, id);
      if (n % 2 === 0) await own.bulk.pause(busy, action);
    }
    expect(await refused(own.bulk.startPurge(busy, id))).toMatch(
      /^invalid_request: 20 bulk actions are running or paused/,
    );
  });

  it('answers 402 once the attempts of the month are used up', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 1);
    const limited = { ...account, plan: 'spent' };
    op.context.plans = { ...DEFAULT_PLANS, spent: { ...PRO, monthlyAttempts: 0 } };
    expect(await refused(op.bulk.startReplay(limited, input(id)))).toMatch(/^limit_reached/);
    op.context.plans = DEFAULT_PLANS;
  });
});

describe('a replay', () => {
  it('replays what matches, oldest first, and leaves the rest', async () => {
    const queue = await createQueue();
    const wanted = await insertDeadLetters(op.db, queue.id, 3, { error: 'HTTP 502', code: 502 });
    await insertDeadLetters(op.db, queue.id, 2);
    const filter = { webhookStatusCodes: [502] };
    expect(await op.bulk.countReplay(account, input(queue.id, { filter, all: false }))).toBe(3);
    expect(await replaysOf(op.db, queue.id)).toEqual([]);
    const id = await op.bulk.startReplay(account, input(queue.id, { filter, all: false }));
    await run(id);
    expect(await row(id)).toMatchObject({ status: 'completed', matched: 3, processed: 3, succeeded: 3, skipped: 0 });
    const replayed = await op.db.query<{ id: string }>(
      'select id from dead_letter where queue_id = $1 and replayed_at is not null order by replayed_job_id',
      [queue.id],
    );
    expect(replayed.map((letter) => letter.id)).toEqual(wanted);
  });

  it('takes an error group by its fingerprint', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 2, { error: 'order 17 failed' });
    await insertDeadLetters(op.db, id, 3, { error: 'order 18 failed' });
    await insertDeadLetters(op.db, id, 1, { error: 'another' });
    const [group] = await op.db.query<{ fingerprint: string }>(
      `select distinct fingerprint from dead_letter where queue_id = $1 and error = 'order 17 failed'`,
      [id],
    );
    const filter = { fingerprints: [group?.fingerprint ?? ''] };
    expect(await op.bulk.countReplay(account, input(id, { filter, all: false }))).toBe(5);
  });

  it.each(['filter', 'jobs'] as const)('a replay by a receiver in %s keeps to the queues of its start', async (of) => {
    const at = (host: string) => ({ webhookUrl: `https://${host}/` });
    const [stays, comes] = [await createQueue(at(`${of}.example`)), await createQueue(at('elsewhere.example'))];
    for (const { id } of [stays, comes]) await insertDeadLetters(op.db, id, 2);
    const asked = { filter: {}, jobs: null, [of]: { receivers: [`${of}.example`] } };
    const id = await op.bulk.startReplay(account, input('', { queueId: null, all: false, ...asked }));
    await op.queues.update(account, comes.id, at(`${of}.example`));
    await run(id);
    expect(await row(id)).toMatchObject({ status: 'completed', matched: 2, succeeded: 2 });
    expect([await replaysOf(op.db, stays.id), await replaysOf(op.db, comes.id)].map((all) => all.length)).toEqual([
      2, 0,
    ]);
  });

  it('a replay of a queue is narrowed by the queues of its filter', async () => {
    const queue = await createQueue();
    const other = await createQueue();
    await insertDeadLetters(op.db, queue.id, 2);
    await insertDeadLetters(op.db, other.id, 1);
    const count = (changes: Partial<BulkReplayInput>) => op.bulk.countReplay(account, input(queue.id, changes));
    expect(await count({ filter: { queueIds: [other.id] } })).toBe(0);
    expect(await count({ filter: { queueIds: [other.id, queue.id] } })).toBe(2);
    expect(await count({ jobs: { queueIds: [other.id] } })).toBe(0);
    expect(await count({ jobs: { queueIds: [other.id, queue.id] } })).toBe(2);
    expect(await count({ jobs: { queueNames: [other.name] } })).toBe(0);
    expect(await count({ jobs: { queueNames: [queue.name] } })).toBe(2);
    const id = await op.bulk.startReplay(account, input(queue.id, { jobs: { queueNames: [other.name] } }));
    await run(id);
    expect(await row(id)).toMatchObject({ status: 'completed', matched: 0, processed: 0 });
    expect(await replaysOf(op.db, queue.id)).toEqual([]);
  });

  it('works in batches, of which a repeated one changes nothing', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 1100);
    const actionId = await op.bulk.startReplay(account, input(id));
    // Two processes at once, all the way: each batch is done by one of them.
    await Promise.all([run(actionId), run(actionId)]);
    await run(actionId);
    expect(await row(actionId)).toMatchObject({ status: 'completed', processed: 1100, succeeded: 1100, skipped: 0 });
    const replays = await replaysOf(op.db, id);
    expect(new Set(replays.map((replay) => replay.of)).size).toBe(1100);
    expect(replays).toHaveLength(1100);
  });

  it('touches only what was dead at its start, and tells those who look at these jobs', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 1);
    const actionId = await op.bulk.startReplay(account, input(id));
    await insertDeadLetters(op.db, id, 2);
    op.changes.splice(0);
    await run(actionId);
    const [replay, ...others] = await replaysOf(op.db, id);
    expect(others).toEqual([]);
    const ofJobs = op.changes.filter((change) => change.jobId !== undefined);
    expect(ofJobs).toEqual([{ accountId: account.id, jobId: replay?.of }]);
  });

  it('counts as skipped what another replay took first', async () => {
    const { id } = await createQueue();
    const [first = ''] = await insertDeadLetters(op.db, id, 3);
    const actionId = await op.bulk.startReplay(account, input(id));
    await op.deadLetters.replay(account, id, first);
    await run(actionId);
    expect(await row(actionId)).toMatchObject({
      status: 'completed',
      matched: 3,
      processed: 3,
      succeeded: 2,
      skipped: 1,
    });
  });

  it('puts few large payloads into a batch', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 20, { payload: JSON.stringify({ text: 'x'.repeat(1_000_000) }) });
    const actionId = await op.bulk.startReplay(account, input(id));
    await run(actionId, 1);
    expect(await row(actionId)).toMatchObject({ status: 'running', processed: 17 });
    await run(actionId);
    expect(await row(actionId)).toMatchObject({ status: 'completed', succeeded: 20 });
  });

  it('keeps to its rate, also when another process polls it too early', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 100);
    const actionId = await op.bulk.startReplay(account, input(id, { ratePerSecond: 1 }));
    const [wait] = await run(actionId, 1);
    expect(wait).toBe(1001);
    const lastBatch = (when: string) =>
      op.db.query(`update bulk_action set updated_at = jobferry_now() + $2::interval where id = $1`, [actionId, when]);
    await lastBatch('1 second');
    const [tooEarly] = await run(actionId, 1);
    expect(tooEarly).toBeGreaterThan(0);
    expect((await row(actionId)).processed).toBe(1);
    await lastBatch('-1001 ms');
    await run(actionId, 1);
    expect((await row(actionId)).processed).toBe(2);
  });

  it('fails when the attempts of the month are used up on the way, and keeps its counts', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 600);
    const actionId = await op.bulk.startReplay(account, input(id));
    await run(actionId, 1);
    op.context.plans = { ...DEFAULT_PLANS, pro: { ...PRO, monthlyAttempts: 0 } };
    await run(actionId);
    op.context.plans = DEFAULT_PLANS;
    const ended = await row(actionId);
    expect(ended).toMatchObject({ status: 'failed', matched: 600, processed: 500, succeeded: 500, skipped: 0 });
    expect(ended.error).toMatch(/your plan's 0 delivery attempts/);
    expect(ended.finished_at).not.toBeNull();
  });

  it('fails when its queue is deleted on the way', async () => {
    const { id } = await createQueue();
    await insertDeadLetters(op.db, id, 600);
    const actionId = await op.bulk.startReplay(account, input(id));
    await run(actionId, 1);
    await op.queues.delete(account, id);
    await run(actionId);
    expect(await row(actionId)).toMatchObject({
      status: 'failed',
      processed: 500,
      error: expect.stringMatching(/deleted/),
    });
  });
});

describe('a canary', () => {
  async function startCanary(count = 3) {
    const { id: queueId } = await createQueue({ maxAttempts: 1 });
    await insertDeadLetters(op.db, queueId, count);
    const actionId = await op.bulk.startReplay(account, input(queueId, { canary: true }));
    expect(await run(actionId, 2)).toEqual([1000, 1000]);
    expect(await replaysOf(op.db, queueId)).toEqual([
      expect.objectContaining({ id: (await row(actionId)).canary_job_id }),
    ]);
    return { queueId, actionId };
  }

  it('lets the rest follow when it has completed, even if it is swept later', async () => {
    const { queueId, actionId } = await startCanary(600);
    await deliver(queueId);
    await run(actionId, 1);
    expect(await row(actionId)).toMatchObject({ status: 'running', processed: 501, succeeded: 501 });
    await op.db.query('delete from job where id = $1', [(await row(actionId)).canary_job_id]);
    await run(actionId);
    expect(await row(actionId)).toMatchObject({ status: 'completed', processed: 600, succeeded: 600 });
  });

  it.each<[string, (queueId: string, jobId: string) => Promise<unknown>, RegExp]>([
    ['dies', (queueId) => deliver(queueId, FAILED), /died \(attempts_exhausted\): HTTP 500$/],
    ['is cancelled', (_queueId, jobId) => op.jobs.cancel(account, jobId), /was cancelled$/],
    ['is swept', (_queueId, jobId) => op.db.query('delete from job where id = $1', [jobId]), /was removed/],
  ])('a canary that %s makes the action fail', async (_what, happen, error) => {
    const { queueId, actionId } = await startCanary();
    const jobId = (await row(actionId)).canary_job_id ?? '';
    await happen(queueId, jobId);
    expect(await run(actionId)).toEqual([null]);
    const ended = await row(actionId);
    expect(ended).toMatchObject({ status: 'failed', matched: 3, processed: 1, succeeded: 1 });
    expect(ended.error).toMatch(error);
    expect(ended.error).toContain(jobId);
    const untouched = 'select from dead_letter where queue_id = $1 and id < $2 and replayed_at is null';
    expect(await op.db.query(untouched, [queueId, actionId])).toHaveLength(2);
  });

  it('is delivered while the action is paused, and the rest waits', async () => {
    const { queueId, actionId } = await startCanary();
    await op.bulk.pause(account, actionId);
    await deliver(queueId);
    expect(await run(actionId)).toEqual([null]);
    expect(await row(actionId)).toMatchObject({ status: 'paused', processed: 1 });
    await op.bulk.resume(account, actionId);
    await run(actionId);
    expect(await row(actionId)).toMatchObject({ status: 'completed', succeeded: 3 });
  });

  it('is the next dead letter when the first was taken by another', async () => {
    const { id } = await createQueue();
    const [first = ''] = await insertDeadLetters(op.db, id, 2);
    const actionId = await op.bulk.startReplay(account, input(id, { canary: true }));
    await op.deadLetters.replay(account, id, first);
    await run(actionId, 1);
    const canary = (await row(actionId)).canary_job_id;
    expect((await replaysOf(op.db, id)).map((replay) => replay.id)[1]).toBe(canary);
  });
});

describe('startPurge', () => {
  it('cancels every pending job that was published before, and no other', async () => {
    const queue = await createQueue({ concurrency: 2 });
    const before = await publish(queue.name, 5);
    const { jobs } = await take(queue.id);
    await op.jobs.publish(account, queue.name, { payload: '{}', delay: 3600 });
    const id = await op.bulk.startPurge(account, queue.id);
    const later = await publish(queue.name, 2);
    await run(id);
    expect(await row(id)).toMatchObject({
      kind: 'purge_queue',
      status: 'completed',
      matched: 4,
      processed: 4,
      succeeded: 4,
    });
    expect(await statuses(queue.id)).toEqual({ processing: 2, dead: 4, pending: 2 });
    const alive = await op.db.query<{ id: string }>(
      `select id from job where queue_id = $1 and status <> 'dead' order by id`,
      [queue.id],
    );
    expect(alive.map((job) => job.id)).toEqual([...jobs.map((job) => job.id), ...later].sort());
    expect(before).toEqual(expect.arrayContaining(jobs.map((job) => job.id)));
    expect(await op.db.query('select from dead_letter where queue_id = $1', [queue.id])).toEqual([]);
    const dead = await op.db.query(`select distinct dead_reason from job where queue_id = $1 and status = 'dead'`, [
      queue.id,
    ]);
    expect(dead).toEqual([{ dead_reason: 'cancelled' }]);
    expect((await op.auditOf(queue.id)).at(-1)).toMatchObject({
      action: 'queue.purge',
      after: { actionId: id, matched: 4 },
    });
  });

  it('counts as skipped what was delivered meanwhile', async () => {
    const queue = await createQueue({ concurrency: 1 });
    await publish(queue.name, 3);
    const id = await op.bulk.startPurge(account, queue.id);
    await deliver(queue.id);
    await run(id);
    expect(await row(id)).toMatchObject({ status: 'completed', matched: 3, processed: 3, succeeded: 2, skipped: 1 });
  });
});

describe('startCancel', () => {
  it('cancels what matches and can be cancelled, in all queues that are meant', async () => {
    const queues = [await createQueue({ mode: 'ack' }), await createQueue(), await createQueue()] as const;
    const [ack, standard, untouched] = queues;
    for (const { name } of queues) await publish(name, 4);
    await settle(
      op.db,
      (await take(ack.id, 1)).jobs.map((job) => settlementOf(job, DELIVERED, Date.now())),
    );
    await take(standard.id, 1);
    await op.queues.create(foreign, { name: 'theirs', webhookUrl: 'http://127.0.0.1:9/' });
    await op.jobs.publish(foreign, 'theirs', { payload: '{}' });
    const filter = { queueNames: [ack.name, standard.name, 'theirs'] };
    expect(await op.bulk.countCancel(account, filter, false)).toBe(8);
    expect(await statuses(ack.id)).toEqual({ awaiting_ack: 1, pending: 3 });
    const id = await op.bulk.startCancel(account, filter, false);
    await publish(standard.name, 1);
    op.changes.splice(0);
    await run(id);
    const counts = { matched: 8, processed: 8, succeeded: 7, skipped: 1 };
    expect(await row(id)).toMatchObject({ kind: 'cancel_jobs', queue_id: null, status: 'completed', ...counts });
    expect(await statuses(ack.id)).toEqual({ dead: 4 });
    expect(await statuses(standard.id)).toEqual({ dead: 3, processing: 1, pending: 1 });
    expect(await statuses(untouched.id)).toEqual({ pending: 4 });
    expect(await op.db.query(`select from job where account_id = $1 and status <> 'pending'`, [foreign.id])).toEqual(
      [],
    );
    const told = { accountId: account.id, actionId: id };
    expect(op.changes).toEqual(
      expect.arrayContaining([{ ...told, queueId: ack.id }, { ...told, queueId: standard.id }, told]),
    );
    // Pages that show one of the jobs read it again.
    const dead = await op.db.query<{ id: string }>(`select id from job where queue_id = $1 and status = 'dead'`, [
      ack.id,
    ]);
    for (const { id: jobId } of dead) expect(op.changes).toContainEqual({ accountId: account.id, jobId });
    expect(await op.auditOf(id)).toMatchObject([
      { action: 'jobs.cancel', target_type: 'bulk_action', after: { filter } },
    ]);
  });

  it('a cancel by a receiver keeps to the queues that delivered to it at the start, wherever they deliver now', async () => {
    const at = (host: string) => ({ webhookUrl: `https://${host}/` });
    const [stays, leaves] = [await createQueue(at('y1.example')), await createQueue(at('y1.example'))];
    const [comes, other] = [await createQueue(at('y2.example')), await createQueue(at('y3.example'))];
    for (const { name } of [stays, leaves, comes, other]) await publish(name, 3);
    const id = await op.bulk.startCancel(account, { receivers: ['Y1.example'] }, false);
    const none = await op.bulk.startCancel(account, { receivers: ['y4.example'] }, false);
    await op.queues.update(account, leaves.id, at('y5.example'));
    for (const [queue, host] of [
      [comes, 'y1.example'],
      [other, 'y4.example'],
    ] as const) {
      await op.queues.update(account, queue.id, at(host));
    }
    await run(id);
    await run(none);
    expect(await row(id)).toMatchObject({ status: 'completed', matched: 6, processed: 6, succeeded: 6, skipped: 0 });
    expect(await row(none)).toMatchObject({ status: 'completed', matched: 0, processed: 0 });
    expect(await Promise.all([stays, leaves, comes, other].map((queue) => statuses(queue.id)))).toEqual([
      ...[{ dead: 3 }, { dead: 3 }, { pending: 3 }, { pending: 3 }],
    ]);
    const filter = { receivers: ['y1.example'], queueIds: [stays.id, leaves.id] };
    expect(await op.auditOf(id)).toMatchObject([{ after: { filter, matched: 6 } }]);
  });

  it('a cancel by receivers and queues takes the queues that are in both', async () => {
    const [one, two] = [
      await createQueue({ webhookUrl: 'https://z.example/' }),
      await createQueue({ webhookUrl: 'https://z.example/' }),
    ];
    for (const { name } of [one, two]) await publish(name, 2);
    const id = await op.bulk.startCancel(account, { receivers: ['z.example'], queueIds: [two.id] }, false);
    await run(id);
    expect([await statuses(one.id), await statuses(two.id)]).toEqual([{ pending: 2 }, { dead: 2 }]);
  });

  it('narrows down by payload and state', async () => {
    const queue = await createQueue();
    const sizes = Array.from({ length: 600 }, (_, size) => size);
    await Promise.all(
      sizes.map((size) =>
        op.jobs.publish(account, queue.name, {
          payload: JSON.stringify({ size }),
          delay: size % 2 === 0 ? 0 : 60,
        }),
      ),
    );
    const payload = { kind: 'test', path: 'size', op: 'LT', value: 550 } as const;
    const id = await op.bulk.startCancel(account, { queueIds: [queue.id], states: ['due'], payload }, false);
    await run(id);
    expect(await row(id)).toMatchObject({ status: 'completed', matched: 275, succeeded: 275 });
    const cancelled = await op.db.query<{ size: number }>(
      `select (payload::json ->> 'size')::int as size from job where queue_id = $1 and status = 'dead' order by 1`,
      [queue.id],
    );
    expect(cancelled.map(({ size }) => size)).toEqual(sizes.filter((size) => size % 2 === 0 && size < 550));
  });

  it('leaves jobs that have ended unchanged, also when the filter selects them', async () => {
    const queue = await createQueue();
    await publish(queue.name, 2);
    await deliver(queue.id);
    expect(await op.bulk.countCancel(account, { queueIds: [queue.id] }, false)).toBe(0);
    const id = await op.bulk.startCancel(account, { queueIds: [queue.id], statuses: ['completed'] }, false);
    await run(id);
    expect(await row(id)).toMatchObject({ status: 'completed', matched: 0, processed: 0 });
    expect(await statuses(queue.id)).toEqual({ completed: 2 });
  });

  it('works in batches, of which two processes do each once', async () => {
    const queue = await createQueue();
    await op.db.query(`select ${publishInSql(queue.id, 1300)}`);
    const id = await op.bulk.startCancel(account, { queueIds: [queue.id] }, false);
    await Promise.all([run(id), run(id)]);
    await run(id);
    expect(await row(id)).toMatchObject({ status: 'completed', processed: 1300, succeeded: 1300, skipped: 0 });
    expect(await statuses(queue.id)).toEqual({ dead: 1300 });
  });

  it('has to select everything explicitly', async () => {
    expect(await refused(op.bulk.startCancel(account, {}, false))).toMatch(/^invalid_request: .*all: true/);
    expect(await refused(op.bulk.countCancel(account, { states: [], created: {} }, false))).toMatch(/all: true/);
    const { url } = await createTestDatabase();
    const own = openServices(url);
    await own.db.query(`insert into account (name, plan) values ('test', 'pro')`);
    const other = await own.firstAccount();
    const queue = await own.queues.create(other, { name: 'q', webhookUrl: 'http://127.0.0.1:9/' });
    await own.jobs.publish(other, queue.name, { payload: '{}' });
    expect(await own.bulk.countCancel(other, {}, true)).toBe(1);
    const id = await own.bulk.startCancel(other, {}, true);
    while ((await runBulkAction(own.context, id)) !== null);
    expect(await bulkRow(own.db, id)).toMatchObject({ status: 'completed', succeeded: 1 });
  });
});

describe('cancelBulkAction', () => {
  it('ends an action before its next batch; what was done stays done', async () => {
    const { id: queueId } = await createQueue();
    await insertDeadLetters(op.db, queueId, 600);
    const id = await op.bulk.startReplay(account, input(queueId));
    await run(id, 1);
    expect(await op.bulk.cancel(account, id)).toBe(id);
    expect(await run(id)).toEqual([null]);
    expect(await row(id)).toMatchObject({
      status: 'cancelled',
      matched: 600,
      processed: 500,
      succeeded: 500,
      error: null,
    });
    expect(await replaysOf(op.db, queueId)).toHaveLength(500);
    expect(await op.auditOf(id)).toMatchObject([
      { action: 'bulk_action.cancel', before: { status: 'running' }, after: { status: 'cancelled', processed: 500 } },
    ]);
    expect(await refused(op.bulk.cancel(account, id))).toBe(
      'conflict: the bulk action has ended already: it is cancelled',
    );
  });

  it("does not know another account's", async () => {
    const { id: queueId } = await createQueue();
    const id = await op.bulk.startPurge(account, queueId);
    for (const unknown of [refused(op.bulk.cancel(foreign, id)), refused(op.bulk.cancel(account, UNKNOWN_ID))]) {
      expect(await unknown).toBe('not_found: bulk action not found');
    }
    expect(await row(id)).toMatchObject({ status: 'running' });
  });
});

describe('the sweep', () => {
  it('removes what ended thirty days ago', async () => {
    const { id: queueId } = await createQueue();
    const ids = [
      await op.bulk.startPurge(account, queueId),
      await op.bulk.startPurge(account, queueId),
      await op.bulk.startPurge(account, queueId),
    ];
    const [old = '', late = '', running = ''] = ids;
    await run(old);
    await run(late);
    const age = `update bulk_action set id = jobferry_id(jobferry_now() - interval '31 days'),
                   finished_at = jobferry_now() - $2::interval where id = $1 returning id`;
    const aged = await Promise.all([
      op.db.one<{ id: string }>(age, [old, '31 days']),
      op.db.one<{ id: string }>(age, [late, '29 days']),
    ]);
    expect(await sweepByTime(op.db, 'bulkActions', await databaseTime(op.db), op.context.periods)).toBe(1);
    const left = await op.db.query<{ id: string }>('select id from bulk_action where queue_id = $1 order by id', [
      queueId,
    ]);
    expect(left.map((action) => action.id)).toEqual([aged[1]?.id, running]);
  });
});
