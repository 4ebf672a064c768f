import { beforeAll, describe, expect, it } from 'vitest';
import { settle, settleOverdue } from '../../src/db/delivery/settle.ts';
import { overdueJobs } from '../../src/db/delivery/stored-job.ts';
import type { Account } from '../../src/domain/account.ts';
import { isUnavailable } from '../../src/domain/errors.ts';
import type { CreateQueueInput } from '../../src/services/queues/manage.ts';
import { expireDeadlines } from '../../src/worker/maintenance/recover.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { DELIVERED, settlementOf } from '../support/database-fixture.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** Two API processes on a database; the test itself is the worker. */
let op: TestServices;
let other: TestServices;
let account: Account;
let names = 0;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  other = openServices(url);
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  account = await op.firstAccount();
});

type Settings = Partial<CreateQueueInput>;

function createQueue(settings: Settings = {}) {
  names += 1;
  return op.queues.create(account, { name: `queue-${names}`, webhookUrl: 'http://127.0.0.1:9/', ...settings });
}

async function publish(queueName: string, input: { delay?: number; idempotencyKey?: string } = {}): Promise<string> {
  return (await op.jobs.publish(account, queueName, { payload: '{}', ...input })).job.id;
}

function take(queueId: string, capacity = 100) {
  return claimOf(op.db, queueId, capacity);
}

/** Jobs of a queue in ack mode that await their report. */
async function awaiting(count: number, settings: Settings = {}) {
  const queue = await createQueue({ mode: 'ack', concurrency: count, ...settings });
  await Promise.all(Array.from({ length: count }, () => publish(queue.name)));
  const { jobs } = await take(queue.id);
  await settle(
    op.db,
    jobs.map((job) => settlementOf(job, DELIVERED, Date.now())),
  );
  return { queue, ids: jobs.map((job) => job.id) };
}

interface StoredColumns {
  status: string;
  dead_reason: string | null;
  wait_reason: string | null;
  scheduled_for: Date;
  deliver_by: Date;
  deadline: Date | null;
  progress: string | null;
  progress_at: Date | null;
  history_count: number;
}

async function stored(id: string): Promise<StoredColumns> {
  const row = await op.db.one<StoredColumns>('select * from job where id = $1', [id]);
  if (row === null) throw new Error(`no job ${id}`);
  return row;
}

async function now(): Promise<number> {
  return (await op.db.one<{ now: Date }>('select jobferry_now() as now'))?.now.getTime() ?? 0;
}

/** Milliseconds until the wake-ups of the queue's deadlines fire. */
async function wakeUps(queueId: string): Promise<number[]> {
  const rows = await op.db.query<{ in_ms: number }>(
    `select (extract(epoch from run_at - clock_timestamp()) * 1000)::float8 as in_ms from graphile_worker.jobs
      where key like 'timeout:' || $1 || ':%'`,
    [queueId],
  );
  return rows.map((row) => row.in_ms);
}

async function forget(queueId: string): Promise<void> {
  await op.db.query(`delete from graphile_worker._private_jobs where payload ->> 'queueId' = $1`, [queueId]);
  op.wakes.delete(queueId);
}

const CONFLICT = { name: 'JobferryError', kind: 'conflict' };
const NOT_FOUND = { name: 'JobferryError', kind: 'not_found', message: 'job not found' };
const INVALID = { name: 'JobferryError', kind: 'invalid_request' };

describe.concurrent('what is not the account’s job', () => {
  it.each([['cancel'], ['runNow']] as const)('is not found by %s', async (operation) => {
    const queue = await createQueue();
    const id = await publish(queue.name, { delay: 60 });
    const stranger = { ...account, id: UNKNOWN_ID };
    await expect(op.jobs[operation](stranger, id)).rejects.toMatchObject(NOT_FOUND);
    for (const unknown of [UNKNOWN_ID, '', "'", 'a\0b', `${id} `]) {
      await expect(op.jobs[operation](account, unknown)).rejects.toMatchObject(NOT_FOUND);
      await expect(op.jobs.extendAck(account, unknown, 1, null)).rejects.toMatchObject(NOT_FOUND);
    }
    await expect(op.jobs.extendAck(stranger, id, 1, null)).rejects.toMatchObject(NOT_FOUND);
    expect(await stored(id)).toMatchObject({ status: 'pending' });
  });

  it('a job past retention is not found', async () => {
    const queue = await createQueue();
    const id = await publish(queue.name, { delay: 60 });
    await op.db.query(
      `update job set status = 'completed', completed_at = created_at - interval '73 hours',
                      created_at = created_at - interval '73 hours' where id = $1`,
      [id],
    );
    await expect(op.jobs.cancel(account, id)).rejects.toMatchObject(NOT_FOUND);
    await expect(op.jobs.runNow(account, id)).rejects.toMatchObject(NOT_FOUND);
  });
});

describe.concurrent('cancelJob', () => {
  it('ends a job that waits, without a dead letter and without a history entry', async () => {
    const queue = await createQueue();
    const id = await publish(queue.name, { delay: 60, idempotencyKey: 'key' });
    expect(await op.jobs.cancel(account, id)).toBe(id);
    const job = await op.jobs.get(account, id);
    expect(job).toMatchObject({ status: 'dead', lastError: 'cancelled', history: [], attempts: 0, completedAt: null });
    expect(await stored(id)).toMatchObject({ dead_reason: 'cancelled', wait_reason: null });
    const page = { page: 1, limit: 10 };
    expect((await op.deadLetters.list(account, queue.id, page)).total).toBe(0);
    expect((await op.deadLetters.replayMany(account, queue.id, 'all')).replayed).toBe(0);
    expect((await take(queue.id)).jobs).toEqual([]);
    // The key stays used: who publishes again learns what became of the job.
    const again = await op.jobs.publish(account, queue.name, { payload: '{}', idempotencyKey: 'key' });
    expect(again).toMatchObject({ created: false, job: { id, status: 'dead' } });
  });

  it('ends a job that awaits its report, and frees its slot', async () => {
    const { queue, ids } = await awaiting(1, { concurrency: 1 });
    const [id = ''] = ids;
    await publish(queue.name);
    expect((await take(queue.id)).jobs).toEqual([]);
    await forget(queue.id);
    await op.jobs.cancel(account, id);
    expect(op.wakes.get(queue.id)).toBe(1);
    expect((await take(queue.id)).jobs).toHaveLength(1);
    const history = [expect.objectContaining({ attempt: 1, status: 'failed', error: 'cancelled' })];
    expect(await op.jobs.get(account, id)).toMatchObject({ status: 'dead', attempts: 1, history });
    await expect(op.jobs.ack(account, id)).rejects.toMatchObject(INVALID);
    expect((await op.deadLetters.list(account, queue.id, { page: 1, limit: 10 })).total).toBe(0);
  });

  it('a cancellation of a probe releases the held queue', async () => {
    const { queue, ids } = await awaiting(1, { concurrency: 5 });
    const [probe = ''] = ids;
    for (let n = 0; n < 3; n += 1) await publish(queue.name);
    await op.db.query('update queue set probe_job_id = $1, hold_until = jobferry_now() where id = $2', [
      probe,
      queue.id,
    ]);
    expect((await take(queue.id)).jobs).toEqual([]);
    await forget(queue.id);
    await op.jobs.cancel(account, probe);
    expect(op.wakes.get(queue.id)).toBe(1);
    expect((await take(queue.id)).jobs).toHaveLength(3);
  });

  it('refuses for a running delivery, and for a job that has ended, with the reason', async () => {
    const queue = await createQueue();
    const id = await publish(queue.name);
    const [job] = (await take(queue.id)).jobs;
    await expect(op.jobs.cancel(account, id)).rejects.toMatchObject({
      ...CONFLICT,
      message: expect.stringContaining('being delivered'),
    });
    if (job !== undefined) await settle(op.db, [settlementOf(job, DELIVERED, Date.now())]);
    await expect(op.jobs.cancel(account, id)).rejects.toMatchObject({
      ...CONFLICT,
      message: expect.stringContaining('completed'),
    });
  });

  it('a cancellation at the same time as an ack, a nack or the timeout: exactly one wins', async () => {
    const { queue, ids } = await awaiting(40, { ackTimeout: 0.001, ackTimeoutAction: 'dead', maxAttempts: 1 });
    for (const [round, id] of ids.entries()) {
      const calls: [string, () => Promise<unknown>][] = [
        ['cancelled', () => op.jobs.cancel(account, id)],
        ['cancelled', () => other.jobs.cancel(account, id)],
        ['success', () => op.jobs.ack(account, id)],
        ['success', () => other.jobs.ack(account, id)],
        ['nacked', () => other.jobs.nack(account, id, { retryable: false, reason: null })],
      ];
      // The first call is likely to win, so all take turns; the timeout is sometimes among them.
      const turn = round % calls.length;
      const ordered = [...calls.slice(turn), ...calls.slice(0, turn)];
      if (round % 3 === 1) ordered.splice(round % 2, 0, ['', () => expireOne(queue.id, id)]);
      // In the first rounds the first call ends before the others begin, so that each has won for certain.
      const first = ordered[0]?.[1]();
      if (round < calls.length) await first;
      const results = await Promise.allSettled([first, ...ordered.slice(1).map(([, call]) => call())]);
      const winners = ordered.filter(([name], index) => name !== '' && results[index]?.status === 'fulfilled');
      const { history } = await op.jobs.get(account, id);
      expect(history).toHaveLength(1);
      const outcome = history[0]?.error ?? history[0]?.status ?? '';
      expect(winners.map(([name]) => name)).toEqual(
        outcome === 'ack_timeout' ? [] : [outcome === 'nacked' ? 'nacked' : outcome],
      );
      if (round < calls.length)
        expect(winners.map(([name]) => name)).toEqual(ordered[0]?.[0] === '' ? [] : [ordered[0]?.[0]]);
    }
  });

  it('a cancellation and a claim at the same time: exactly one wins', async () => {
    const queue = await createQueue({ concurrency: 60 });
    const ids = await Promise.all(Array.from({ length: 60 }, () => publish(queue.name)));
    const [cancels, claims] = await Promise.all([
      Promise.allSettled(ids.map((id, index) => (index % 2 === 0 ? op : other).jobs.cancel(account, id))),
      Promise.all(Array.from({ length: 12 }, () => take(queue.id, 3))),
    ]);
    const claimed = new Set(claims.flatMap(({ jobs }) => jobs.map((job) => job.id)));
    for (const [index, id] of ids.entries()) {
      const result = cancels[index];
      expect(result?.status === 'fulfilled', id).toBe(!claimed.has(id));
      expect((await stored(id)).status).toBe(claimed.has(id) ? 'processing' : 'dead');
      if (result?.status === 'rejected') expect(result.reason).toMatchObject(CONFLICT);
    }
  });
});

/** The effect of the timeout task, for one job. */
async function expireOne(queueId: string, id: string): Promise<void> {
  const job = (await overdueJobs(op.db, queueId, 100)).find((overdue) => overdue.id === id);
  if (job !== undefined) await settleOverdue(op.db, [settlementOf(job, { type: 'ack_timed_out' }, Date.now())]);
}

describe.concurrent('runNow', () => {
  it('makes a delayed job due, and leaves the end of its lifetime', async () => {
    const queue = await createQueue();
    const id = await publish(queue.name, { delay: 3600 });
    const before = await stored(id);
    expect((await take(queue.id)).jobs).toEqual([]);
    await forget(queue.id);
    expect(await op.jobs.runNow(account, id)).toBe(id);
    expect(op.wakes.get(queue.id)).toBe(1);
    expect((await stored(id)).deliver_by).toEqual(before.deliver_by);
    expect((await take(queue.id)).jobs).toMatchObject([{ id }]);
    await expect(op.jobs.runNow(account, id)).rejects.toMatchObject({
      ...CONFLICT,
      message: 'the job is processing, not pending',
    });
  });

  it('makes a job due that waits for the end of its backoff', async () => {
    const queue = await createQueue({ backoffType: 'fixed', backoffDelay: 3600 });
    const id = await publish(queue.name);
    const [job] = (await take(queue.id)).jobs;
    const failed = { type: 'answered', outcome: { kind: 'failed', statusCode: 500, error: 'HTTP 500' } } as const;
    if (job !== undefined) await settle(op.db, [settlementOf(job, failed, Date.now())]);
    expect(await stored(id)).toMatchObject({ status: 'pending', wait_reason: 'backoff' });
    await op.jobs.runNow(account, id);
    expect(await stored(id)).toMatchObject({ status: 'pending', wait_reason: null });
    expect((await take(queue.id)).jobs).toMatchObject([{ id, state: { attempts: 2 } }]);
  });

  it('leaves a due job its place in line', async () => {
    const queue = await createQueue();
    const first = await publish(queue.name);
    const second = await publish(queue.name);
    await op.jobs.runNow(account, first);
    expect((await take(queue.id, 1)).jobs).toMatchObject([{ id: first }]);
    expect((await stored(second)).status).toBe('pending');
  });

  it.each<[what: string, column: string]>([
    ['a pause', `paused_at = jobferry_now(), paused_by = 'x'`],
    ['a hold', `hold_until = jobferry_now() + interval '1 hour'`],
    ['the rate limit', 'rate_limit_max = 1'],
  ])('does not get past %s', async (_what, columns) => {
    const queue = await createQueue({ rateLimitWindow: 3600 });
    const id = await publish(queue.name, { delay: 60 });
    await op.db.query(`update queue set ${columns} where id = $1`, [queue.id]);
    const windowOf = '(jobferry_rate_window(rate_limit_window, jobferry_now())).starts';
    await op.db.query(`select jobferry_use_rate(id, ${windowOf}, 1) from queue where id = $1`, [queue.id]);
    await op.jobs.runNow(account, id);
    expect((await take(queue.id)).jobs).toEqual([]);
  });

  it('a runNow at the same time as claims delivers once', async () => {
    const queue = await createQueue({ concurrency: 40 });
    const ids = await Promise.all(Array.from({ length: 40 }, () => publish(queue.name)));
    const [runs, claims] = await Promise.all([
      Promise.allSettled(ids.flatMap((id) => [op.jobs.runNow(account, id), other.jobs.runNow(account, id)])),
      Promise.all(Array.from({ length: 20 }, () => take(queue.id, 4))),
    ]);
    for (const run of runs) if (run.status === 'rejected') expect(run.reason).toMatchObject(CONFLICT);
    const claimed = [...claims, await take(queue.id)].flatMap(({ jobs }) => jobs.map((job) => job.id));
    expect(claimed.sort()).toEqual(ids.sort());
  });
});

describe.concurrent('extendAck', () => {
  it('puts the deadline off, with a wake-up there, and keeps what the worker reports', async () => {
    const { queue, ids } = await awaiting(1, { ackTimeout: 1 });
    const [id = ''] = ids;
    await forget(queue.id);
    const before = await now();
    const deadline = await op.jobs.extendAck(account, id, 600, 'page 3 of 9');
    expect(deadline.getTime()).toBeGreaterThanOrEqual(before + 600_000);
    expect(deadline.getTime()).toBeLessThanOrEqual((await now()) + 600_000);
    expect(await stored(id)).toMatchObject({ deadline, progress: 'page 3 of 9', progress_at: expect.any(Date) });
    const [wakeUp = Number.POSITIVE_INFINITY] = await wakeUps(queue.id);
    expect(wakeUp).toBeLessThanOrEqual(600_000);
    expect(wakeUp).toBeGreaterThan(590_000);
  });

  it('never brings the deadline nearer, and forgets no progress', async () => {
    const { ids } = await awaiting(1, { ackTimeout: 600 });
    const [id = ''] = ids;
    const { deadline } = await stored(id);
    await op.jobs.extendAck(account, id, 1, 'half');
    expect(await op.jobs.extendAck(account, id, 0.001, null)).toEqual(deadline);
    expect(await stored(id)).toMatchObject({ deadline, progress: 'half' });
  });

  it('holds against the old deadline, and not beyond the new one', async () => {
    const { queue, ids } = await awaiting(2, { ackTimeout: 0.001, ackTimeoutAction: 'dead' });
    const [kept = '', ended = ''] = ids;
    // Overdue, but no process has timed it out: it still awaits its report.
    await op.jobs.extendAck(account, kept, 600, null);
    await expireDeadlines(op.db, queue.id);
    expect(await stored(kept)).toMatchObject({ status: 'awaiting_ack' });
    expect(await stored(ended)).toMatchObject({ status: 'dead', dead_reason: 'ack_timeout' });
    await op.db.query(`update job set deadline = jobferry_now() where id = $1`, [kept]);
    await expireDeadlines(op.db, queue.id);
    expect(await stored(kept)).toMatchObject({ status: 'dead', dead_reason: 'ack_timeout' });
  });

  it('wins against a timeout that has read the old deadline', async () => {
    const { queue, ids } = await awaiting(2, { ackTimeout: 0.001, ackTimeoutAction: 'dead' });
    const overdue = await overdueJobs(op.db, queue.id, 10);
    expect(overdue).toHaveLength(2);
    const [extended = '', ended = ''] = ids;
    await op.jobs.extendAck(account, extended, 600, null);
    const settlements = overdue.map((job) => settlementOf(job, { type: 'ack_timed_out' }, Date.now()));
    expect(await settleOverdue(op.db, settlements)).toEqual(new Set([ended]));
    expect(await settleOverdue(op.db, settlements)).toEqual(new Set());
    expect(await stored(extended)).toMatchObject({ status: 'awaiting_ack', history_count: 0 });
    expect(await stored(ended)).toMatchObject({ status: 'dead' });
    await op.jobs.ack(account, extended);
  });

  it('does not get in the way of a report', async () => {
    const { ids } = await awaiting(20);
    const calls = ids.flatMap((id, n) => [
      op.jobs.extendAck(account, id, 60, `at ${n}`).catch((error: unknown) => expect(error).toMatchObject(INVALID)),
      other.jobs.ack(account, id),
      op.jobs.extendAck(account, id, 61, null).catch((error: unknown) => expect(error).toMatchObject(INVALID)),
    ]);
    await Promise.all(calls);
    for (const id of ids) expect(await stored(id)).toMatchObject({ status: 'completed', history_count: 1 });
  });

  it('starts again with the next delivery', async () => {
    const { queue, ids } = await awaiting(1, { backoffType: 'fixed', backoffDelay: 0 });
    const [id = ''] = ids;
    await op.jobs.extendAck(account, id, 600, 'half');
    await op.jobs.nack(account, id, { retryable: true, reason: null });
    await take(queue.id);
    expect(await stored(id)).toMatchObject({ status: 'processing', progress: null, progress_at: null });
  });

  it('is only for jobs that await their report', async () => {
    const queue = await createQueue();
    const id = await publish(queue.name, { delay: 60 });
    await expect(op.jobs.extendAck(account, id, 1, null)).rejects.toMatchObject(INVALID);
    const done = await awaiting(1);
    const [acked = ''] = done.ids;
    await op.jobs.ack(account, acked);
    await expect(op.jobs.extendAck(account, acked, 1, null)).rejects.toMatchObject(INVALID);
  });

  it.each<[seconds: number, progress: string | null, field: string]>([
    [0, null, 'seconds'],
    [-1, null, 'seconds'],
    [86_400.5, null, 'seconds'],
    [Number.NaN, null, 'seconds'],
    [Number.POSITIVE_INFINITY, null, 'seconds'],
    [1, 'x'.repeat(1001), 'progress'],
    [1, 'a\0b', 'progress'],
    [1, 'a\ud800b', 'progress'],
  ])('refuses what is out of bounds (case %#)', async (seconds, progress, field) => {
    const { ids } = await awaiting(1);
    const refused = op.jobs.extendAck(account, ids[0] ?? '', seconds, progress);
    await expect(refused).rejects.toMatchObject({ kind: 'invalid_fields', fields: { [field]: [expect.any(String)] } });
  });

  it.each([
    [0.001, ''],
    [86_400, 'x'.repeat(1000)],
  ])('takes the bounds (case %#)', async (seconds, progress) => {
    const { ids } = await awaiting(1);
    const [id = ''] = ids;
    await op.jobs.extendAck(account, id, seconds, progress);
    expect(await stored(id)).toMatchObject({ progress });
  });
});

describe.concurrent('publishJobs', () => {
  it('answers each job by itself, in order', async () => {
    const queue = await createQueue();
    const { name: queueName } = queue;
    const answers = await op.jobs.publishMany(account, [
      { queueName, payload: '{"n":0}', idempotencyKey: 'a' },
      { queueName: 'no-such-queue', payload: '{}' },
      { queueName, payload: '[]' },
      { queueName, payload: '{"n":1e400}', idempotencyKey: 'a' },
      { queueName, payload: '{"n":3}', delay: 86_401 },
      { queueName: 'a\0b', payload: '{}' },
      { queueName, payload: '{"n":  -0}', delay: 60 },
    ]);
    const refused = (kind: string) => ({ outcome: 'refused', error: { kind } });
    expect(answers).toMatchObject([
      { outcome: 'created', status: 'pending', createdAt: expect.any(Date) },
      refused('not_found'),
      refused('invalid_fields'),
      { outcome: 'existing', status: 'pending' },
      refused('invalid_fields'),
      refused('not_found'),
      { outcome: 'created' },
    ]);
    const ids = answers.map((answer) => ('id' in answer ? answer.id : null));
    expect(ids[3]).toBe(ids[0]);
    const { jobs } = await op.jobs.list(account, queue.id, { page: 1, limit: 100 });
    expect(jobs.map((job) => job.payload).sort()).toEqual(['{"n":  -0}', '{"n":0}']);
    for (const id of [ids[0], ids[6]]) {
      expect(op.changes).toContainEqual({ accountId: account.id, queueId: queue.id, jobId: id });
    }
  });

  type Answer = Awaited<ReturnType<typeof op.jobs.publishMany>>[number];

  /** Publishes jobs, and repeats those that a busy machine has not stored in time. */
  async function publishAll(jobs: Parameters<typeof op.jobs.publishMany>[1]): Promise<Answer[]> {
    const answers = await op.jobs.publishMany(account, jobs);
    const isLate = (answer: Answer) => 'error' in answer && isUnavailable(answer.error);
    const late = jobs.filter((_job, n) => isLate(answers[n] as Answer));
    if (late.length === 0) return answers;
    const again = (await publishAll(late)).values();
    return answers.map((answer) => (isLate(answer) ? (again.next().value as Answer) : answer));
  }

  it('takes 1000 at once, and refuses more', async () => {
    const queue = await createQueue();
    const jobs = Array.from({ length: 1000 }, (_, n) => ({ queueName: queue.name, payload: `{"n":${n}}` }));
    const answers = await publishAll(jobs);
    const ids = answers.map((answer) => ('id' in answer ? answer.id : ''));
    const rows = await op.db.query<{ payload: string }>(
      'select payload from unnest($1::text[]) with ordinality as asked(id, n) join job on job.id = asked.id order by n',
      [ids],
    );
    expect(rows.map((row) => row.payload)).toEqual(jobs.map((job) => job.payload));
    const tooMany = op.jobs.publishMany(account, [...jobs, ...jobs.slice(0, 1)]);
    await expect(tooMany).rejects.toMatchObject(INVALID);
    expect(await op.jobs.publishMany(account, [])).toEqual([]);
  });

  it('fills no waiting line so that it is refused, however many requests publish a thousand at once', async () => {
    const queue = await createQueue();
    const jobs = Array.from({ length: 1000 }, () => ({ queueName: queue.name, payload: '{}' }));
    const answers = await Promise.all(Array.from({ length: 8 }, () => op.jobs.publishMany(account, jobs)));
    const messages = answers.flat().map((answer) => ('error' in answer ? answer.error.message : answer.outcome));
    expect(messages.filter((message) => message.includes('too many requests'))).toEqual([]);
  });

  it('refuses each above the plan’s limit', async () => {
    const row = await op.db.one<{ id: string }>(
      `insert into account (name, plan) values ('poor', 'free') returning id`,
    );
    const poor: Account = { ...account, id: row?.id ?? '', plan: 'free' };
    const queue = await op.queues.create(poor, { name: 'poor', webhookUrl: 'http://127.0.0.1:9/' });
    await op.db.query(`insert into usage values ($1, jobferry_month(jobferry_now()), 30000)`, [poor.id]);
    const jobs = [{ queueName: queue.name, payload: '{}' }];
    expect(await op.jobs.publishMany(poor, jobs)).toMatchObject([
      { outcome: 'refused', error: { kind: 'limit_reached' } },
    ]);
  });
});

// Not beside the others: it stops the database.
describe('publishJobs while nothing can be written', () => {
  it('gives up on the rest when none of a portion could be written', async () => {
    const queue = await createQueue();
    const jobs = Array.from({ length: 1000 }, (_, n) => ({ queueName: queue.name, payload: n === 7 ? '[]' : '{}' }));
    const holder = await op.db.pool.connect();
    try {
      await holder.query('begin; lock table job in access exclusive mode');
      const answers = await op.jobs.publishMany(account, jobs);
      expect(answers).toHaveLength(1000);
      const messages = answers.map((answer) => ('error' in answer ? answer.error.message : 'no error'));
      expect(new Set(messages.slice(100))).toEqual(
        new Set(['the jobs before this one took too long; it was not stored, try again']),
      );
      expect(messages.slice(0, 100)).not.toContain('no error');
      expect(answers[999]).toMatchObject({ error: { kind: 'unavailable', stored: 'nothing' } });
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });
});
