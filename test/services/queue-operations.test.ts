import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../src/db/delivery/settle.ts';
import { queuesWithWork } from '../../src/db/delivery/wake-ups.ts';
import { isLastBatch, type SweptBatch, sweepQueues } from '../../src/db/retention/sweep.ts';
import type { Account } from '../../src/domain/account.ts';
import { NO_CHANGES } from '../../src/live/live.ts';
import type { CreateQueueInput } from '../../src/services/queues/manage.ts';
import { emptyDeletedQueue, endLifetimes } from '../../src/worker/maintenance/recover.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { DELIVERED, settlementOf, takeOverClock } from '../support/database-fixture.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** On a clock that the test moves, without any worker. */
const MINUTE = 60_000;
const LIFETIME = 10 * MINUTE;
const OVERLAP_MAX = 7 * 24 * 3600;

let op: TestServices;
let account: Account;
let setClock: (ms: number) => Promise<void>;
let now = Date.UTC(2026, 10, 21, 12);
let names = 0;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url, { lifetimeMs: LIFETIME });
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  account = await op.firstAccount();
  setClock = await takeOverClock(op.db, now);
});

beforeEach(async () => {
  // No job of one test is due in the next.
  await op.db.query('delete from job');
});

async function pass(ms: number): Promise<void> {
  now += ms;
  await setClock(now);
}

async function endAllLifetimes(): Promise<void> {
  const queues = await op.db.query<{ id: string }>('select id from queue');
  const ids = queues.map(({ id }) => id);
  await endLifetimes(op.db, NO_CHANGES, ids);
}

function createQueue(settings: Partial<CreateQueueInput> = {}) {
  names += 1;
  return op.queues.create(account, { name: `queue-${names}`, webhookUrl: 'http://127.0.0.1:9/', ...settings });
}

async function publish(queueName: string, delay = 0): Promise<string> {
  return (await op.jobs.publish(account, queueName, { payload: '{}', delay })).job.id;
}

function take(queueId: string, capacity = 100) {
  return claimOf(op.db, queueId, capacity);
}

async function statusOf(id: string): Promise<string> {
  const { status, lastError } = await op.jobs.get(account, id);
  return lastError === null ? status : `${status}: ${lastError}`;
}

interface QueueColumns {
  paused_at: Date | null;
  paused_by: string | null;
  lifetime_floor: Date | null;
  signing_secret: string;
  next_signing_secret: string | null;
  next_signing_secret_at: Date | null;
}

async function columns(id: string): Promise<QueueColumns> {
  const row = await op.db.one<QueueColumns>('select * from queue where id = $1', [id]);
  if (row === null) throw new Error('no queue');
  return row;
}

const NOT_FOUND = { name: 'JobferryError', kind: 'not_found', message: 'queue not found' };

describe('what is not the account’s live queue', () => {
  it('is not found', async () => {
    const queue = await createQueue();
    const deleted = await createQueue();
    await op.queues.delete(account, deleted.id);
    const stranger = { ...account, id: UNKNOWN_ID };
    for (const [by, id] of [
      [stranger, queue.id],
      ...[UNKNOWN_ID, deleted.id, '', 'a\0b', "'"].map((unknown) => [account, unknown] as const),
    ] as const) {
      await expect(op.queues.pause(by, id)).rejects.toMatchObject(NOT_FOUND);
      await expect(op.queues.resume(by, id)).rejects.toMatchObject(NOT_FOUND);
      await expect(op.queues.endHold(by, id)).rejects.toMatchObject(NOT_FOUND);
      await expect(op.queues.finishSecretRotation(by, id)).rejects.toMatchObject(NOT_FOUND);
      await expect(op.queues.rotateSigningSecret(by, id, 0)).rejects.toMatchObject(NOT_FOUND);
    }
    expect(await columns(queue.id)).toMatchObject({ paused_at: null, signing_secret: queue.signingSecret });
  });
});

it('an account that has 1000 deleted queues with jobs gets no further one until some are swept', async () => {
  await op.db.query(`insert into account (name, plan) values ('deletes', 'pro')`);
  const own = await op.db.one<Omit<Account, 'actor'>>(`select id, name, plan from account where name = 'deletes'`);
  const other = { ...account, ...own } as Account;
  await op.db.query(
    `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                        mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay, deleted_at)
     select $1, 'q', webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled, mode,
            rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay, jobferry_now() - interval '1 minute'
       from queue, generate_series(1, 1000) where queue.id = $2`,
    [other.id, (await createQueue()).id],
  );
  const input = { name: 'another', webhookUrl: 'http://127.0.0.1:9/' };
  await expect(op.queues.create(other, input)).rejects.toMatchObject({
    kind: 'forbidden',
    message: expect.stringMatching(/^1000 deleted queues are kept/),
  });
  await expect(createQueue()).resolves.toMatchObject({ name: expect.any(String) });
  await sweepTombstones();
  await expect(op.queues.create(other, input)).resolves.toMatchObject({ name: 'another' });
});

async function sweepTombstones(): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const batch: SweptBatch = await sweepQueues(op.db, after);
    after = isLastBatch(batch) ? null : batch.last;
  }
}

it('a deleted queue is kept until the publishes have ended that began before', async () => {
  const { id } = await createQueue();
  const isKept = async () => (await op.db.query('select from queue where id = $1', [id])).length === 1;
  await op.queues.delete(account, id);
  await sweepTombstones();
  expect(await isKept()).toBe(true);
  await op.db.query(`update queue set deleted_at = deleted_at - interval '11 s' where id = $1`, [id]);
  await sweepTombstones();
  expect(await isKept()).toBe(false);
});

describe('a paused queue', () => {
  it('has its time and its actor; a second pause changes nothing', async () => {
    const { signingSecret: _, ...queue } = await createQueue();
    expect(await op.queues.pause(account, queue.id)).toEqual(queue);
    const paused = { paused_at: new Date(now), paused_by: account.actor.label };
    expect(await columns(queue.id)).toMatchObject(paused);
    await pass(MINUTE);
    const another = { ...account, actor: { ...account.actor, label: 'jf_xyz…1234' } };
    expect(await op.queues.pause(another, queue.id)).toEqual(queue);
    expect(await columns(queue.id)).toMatchObject(paused);
    expect(op.changes.filter((change) => change.queueId === queue.id)).toHaveLength(2); // created, paused
  });

  it('gives no job to any claim, causes no claims, and gives all jobs again when it is resumed', async () => {
    const queue = await createQueue();
    const before = await publish(queue.name);
    await op.queues.pause(account, queue.id);
    const during = await publish(queue.name);
    expect(await take(queue.id)).toMatchObject({ jobs: [], waitMs: null });
    expect((await queuesWithWork(op.db, [queue.id])).due).not.toContain(queue.id);
    op.wakes.clear();
    const { signingSecret: _, ...shown } = queue;
    expect(await op.queues.resume(account, queue.id)).toEqual(shown);
    expect([...op.wakes]).toEqual([[queue.id, 1]]);
    expect((await queuesWithWork(op.db, [queue.id])).due).toContain(queue.id);
    expect((await take(queue.id)).jobs.map((job) => job.id)).toEqual([before, during]);
  });

  it('ends no lifetime, whenever its jobs were published, and gives each its full one again', async () => {
    const queue = await createQueue();
    const other = await createQueue();
    const [early, lost] = [await publish(queue.name), await publish(other.name)];
    await pass(LIFETIME - MINUTE);
    await op.queues.pause(account, queue.id);
    const late = await publish(queue.name, 3 * 60);
    await pass(5 * LIFETIME);
    await endAllLifetimes();
    expect(await statusOf(lost)).toBe('dead: delivery_lifetime_exceeded');
    expect([await statusOf(early), await statusOf(late)]).toEqual(['pending', 'pending']);

    await op.queues.resume(account, queue.id);
    expect((await columns(queue.id)).lifetime_floor).toEqual(new Date(now + LIFETIME));
    await pass(LIFETIME - 1);
    await endAllLifetimes();
    const claimed = (await take(queue.id, 1)).jobs;
    expect(claimed).toMatchObject([{ id: early, state: { deliverBy: now + 1 } }]);
    expect(await statusOf(late)).toBe('pending');
    await pass(1);
    await endAllLifetimes();
    expect(await statusOf(late)).toBe('dead: delivery_lifetime_exceeded');
  });

  it('does not shorten what a job published after it has', async () => {
    const queue = await createQueue();
    await op.queues.pause(account, queue.id);
    await op.queues.resume(account, queue.id);
    await pass(LIFETIME / 2);
    const id = await publish(queue.name);
    await pass(LIFETIME - 1);
    await endAllLifetimes();
    expect(await statusOf(id)).toBe('pending');
  });

  it('counts no time for a job that is reported on meanwhile', async () => {
    const queue = await createQueue({ mode: 'ack', ackTimeout: 86_400, backoffType: 'fixed', backoffDelay: 1 });
    const ids = [await publish(queue.name), await publish(queue.name)];
    const { jobs } = await take(queue.id);
    await settle(
      op.db,
      jobs.map((job) => settlementOf(job, DELIVERED, now)),
    );
    await pass(LIFETIME - MINUTE);
    await op.queues.pause(account, queue.id);
    await pass(LIFETIME);
    const [nacked = '', deferred = ''] = ids;
    await op.jobs.nack(account, nacked, { retryable: true, reason: 'why' });
    expect(await statusOf(nacked)).toBe('pending: why');
    // There was a minute left of it.
    await op.jobs.defer(account, deferred, { retryAfter: 61, scope: 'job', reason: null });
    expect(await statusOf(deferred)).toBe('dead: retry_after_exceeds_lifetime');
  });

  it('goes on with its rate window', async () => {
    const queue = await createQueue({ rateLimitMax: 2, rateLimitWindow: 60 });
    await pass(MINUTE - (now % MINUTE));
    for (let n = 0; n < 5; n += 1) await publish(queue.name);
    expect((await take(queue.id)).jobs).toHaveLength(2);
    await op.queues.pause(account, queue.id);
    await pass(MINUTE / 2);
    await op.queues.resume(account, queue.id);
    expect(await take(queue.id)).toMatchObject({ jobs: [], waitMs: MINUTE / 2 });
    await pass(MINUTE / 2);
    expect((await take(queue.id)).jobs).toHaveLength(2);
  });

  it('stays held, and then releases a probe alone', async () => {
    const queue = await createQueue({ mode: 'ack', ackTimeout: 3600 });
    for (let n = 0; n < 4; n += 1) await publish(queue.name);
    const [first] = (await take(queue.id, 1)).jobs;
    if (first === undefined) throw new Error('nothing claimed');
    await settle(op.db, [settlementOf(first, DELIVERED, now)]);
    await op.jobs.defer(account, first.id, { retryAfter: 60, scope: 'queue', reason: null });
    await op.queues.pause(account, queue.id);
    await op.queues.resume(account, queue.id);
    expect(await take(queue.id)).toMatchObject({ jobs: [], waitMs: MINUTE });
    await op.queues.pause(account, queue.id);
    await pass(MINUTE);
    expect(await take(queue.id)).toMatchObject({ jobs: [], waitMs: null });
    await op.queues.resume(account, queue.id);
    const [probe, ...others] = (await take(queue.id)).jobs;
    expect(others).toEqual([]);
    if (probe === undefined) throw new Error('no probe');
    expect(probe.rules.isProbe).toBe(true);
    // A probe that ends while the queue is paused ends the hold, but the queue stays paused.
    await op.queues.pause(account, queue.id);
    await settle(op.db, [settlementOf(probe, DELIVERED, now)]);
    await op.jobs.ack(account, probe.id);
    expect((await take(queue.id)).jobs).toEqual([]);
    await op.queues.resume(account, queue.id);
    expect((await take(queue.id)).jobs).toHaveLength(3);
  });

  it('can be deleted', async () => {
    const queue = await createQueue();
    const id = await publish(queue.name);
    await op.queues.pause(account, queue.id);
    await op.queues.delete(account, queue.id);
    expect((await queuesWithWork(op.db, [queue.id])).due).toContain(queue.id);
    expect(await take(queue.id)).toMatchObject({ queueDeleted: true });
    await emptyDeletedQueue(op.db, queue.id);
    expect(await statusOf(id)).toBe('dead: queue_deleted');
  });
});

describe('a hold that is ended', () => {
  it('makes all its jobs due, with the one whose defer caused it', async () => {
    const queue = await createQueue({ mode: 'ack', ackTimeout: 3600 });
    for (let n = 0; n < 4; n += 1) await publish(queue.name);
    const [first] = (await take(queue.id, 1)).jobs;
    if (first === undefined) throw new Error('nothing claimed');
    await settle(op.db, [settlementOf(first, DELIVERED, now)]);
    const later = await publish(queue.name, 90);
    await op.jobs.defer(account, first.id, { retryAfter: 120, scope: 'queue', reason: 'a mistake' });
    expect(await take(queue.id)).toMatchObject({ jobs: [], waitMs: 2 * MINUTE });

    const { signingSecret: _, ...shown } = queue;
    expect(await op.queues.endHold(account, queue.id)).toEqual(shown);
    const { jobs } = await take(queue.id);
    expect(jobs).toHaveLength(4);
    expect(jobs.map(({ id }) => id)).toContain(first.id);
    expect(jobs.map(({ rules }) => rules.isProbe)).toEqual([false, false, false, false]);
    expect(await statusOf(later)).toBe('pending');

    const { length } = op.changes;
    await op.queues.endHold(account, queue.id);
    expect(op.changes).toHaveLength(length);
    const heldUntil = new Date(now + 2 * MINUTE).toISOString();
    expect((await op.auditOf(queue.id)).slice(1)).toMatchObject([
      { action: 'queue.end_hold', before: { heldUntil }, after: { heldUntil: null, jobs: 1 } },
    ]);
  });

  it('does not wait for a probe that is in flight', async () => {
    const queue = await createQueue({ mode: 'ack', ackTimeout: 3600 });
    for (let n = 0; n < 3; n += 1) await publish(queue.name);
    const [first] = (await take(queue.id, 1)).jobs;
    if (first === undefined) throw new Error('nothing claimed');
    await settle(op.db, [settlementOf(first, DELIVERED, now)]);
    await op.jobs.defer(account, first.id, { retryAfter: 60, scope: 'queue', reason: null });
    await pass(MINUTE);
    const [probe] = (await take(queue.id)).jobs;
    expect(probe?.rules.isProbe).toBe(true);
    await op.queues.endHold(account, queue.id);
    expect((await take(queue.id)).jobs).toHaveLength(2);
  });
});

describe('a rotation', () => {
  async function signedWith(queue: { id: string; name: string }) {
    await publish(queue.name);
    const [job] = (await take(queue.id)).jobs;
    if (job === undefined) throw new Error('nothing claimed');
    await settle(op.db, [settlementOf(job, DELIVERED, now)]);
    return [job.signingSecret, job.nextSigningSecret];
  }

  it('signs with both secrets until the next takes over', async () => {
    const queue = await createQueue();
    const { signingSecret: old, ...shown } = queue;
    const rotated = await op.queues.rotateSigningSecret(account, queue.id, 60);
    const { signingSecret: next } = rotated;
    expect(rotated).toEqual({ queue: shown, signingSecret: next, takesOverAt: new Date(now + MINUTE) });
    expect(next).toMatch(/^whsec_[0-9a-f]{64}$/);
    expect(next).not.toBe(old);
    await pass(MINUTE - 1);
    expect(await signedWith(queue)).toEqual([old, next]);
    await pass(1);
    expect(await signedWith(queue)).toEqual([next, null]);
    expect(await columns(queue.id)).toMatchObject({ signing_secret: next, next_signing_secret: null });
  });

  it('a rotation without an overlap switches at once', async () => {
    const queue = await createQueue();
    const { signingSecret: next, takesOverAt } = await op.queues.rotateSigningSecret(account, queue.id, 0);
    expect(takesOverAt).toEqual(new Date(now));
    expect(await signedWith(queue)).toEqual([next, null]);
  });

  it('is refused while another is in progress, and not after', async () => {
    const queue = await createQueue();
    const { signingSecret: second } = await op.queues.rotateSigningSecret(account, queue.id, 60);
    await pass(MINUTE - 1);
    await expect(op.queues.rotateSigningSecret(account, queue.id, 60)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/in progress, until \d{4}-\S+Z: finishSecretRotation ends it now/),
    });
    await pass(1);
    // No claim has come along to carry the first one out.
    const { signingSecret: third } = await op.queues.rotateSigningSecret(account, queue.id, 60);
    expect(await signedWith(queue)).toEqual([second, third]);
    await pass(MINUTE);
    const { signingSecret: fourth } = await op.queues.rotateSigningSecret(account, queue.id, 0);
    expect(await signedWith(queue)).toEqual([fourth, null]);
  });

  it('gives way to one without an overlap', async () => {
    const queue = await createQueue();
    await op.queues.rotateSigningSecret(account, queue.id, OVERLAP_MAX);
    const { signingSecret: third, takesOverAt } = await op.queues.rotateSigningSecret(account, queue.id, 0);
    expect(takesOverAt).toEqual(new Date(now));
    expect(await signedWith(queue)).toEqual([third, null]);
    expect(await columns(queue.id)).toMatchObject({ next_signing_secret: null, next_signing_secret_at: null });
  });

  it('can be finished early, once', async () => {
    const queue = await createQueue();
    const { signingSecret: _, ...shown } = queue;
    const { signingSecret: next, takesOverAt } = await op.queues.rotateSigningSecret(account, queue.id, OVERLAP_MAX);
    expect(await op.queues.finishSecretRotation(account, queue.id)).toEqual(shown);
    expect(await signedWith(queue)).toEqual([next, null]);
    const { length } = op.changes;
    expect(await op.queues.finishSecretRotation(account, queue.id)).toEqual(shown);
    expect(op.changes).toHaveLength(length);
    expect((await op.auditOf(queue.id)).slice(2)).toMatchObject([
      {
        action: 'queue.finish_rotation',
        before: { takesOverAt: takesOverAt.toISOString() },
        after: { takesOverAt: new Date(now).toISOString() },
      },
    ]);
  });

  it('is given to one of several concurrent requests', async () => {
    const queue = await createQueue();
    const asked = await Promise.allSettled(
      Array.from({ length: 8 }, () => op.queues.rotateSigningSecret(account, queue.id, 60)),
    );
    const secrets = asked.flatMap((result) => (result.status === 'fulfilled' ? [result.value.signingSecret] : []));
    expect(secrets).toHaveLength(1);
    expect(await signedWith(queue)).toEqual([queue.signingSecret, secrets[0]]);
  });

  it.each([[-0.001], [OVERLAP_MAX + 0.001], [Number.NaN], [Number.POSITIVE_INFINITY]])(
    'a rotation with an overlap of %d s is refused',
    async (overlap) => {
      const queue = await createQueue();
      const refused = { kind: 'invalid_fields', fields: { overlapSeconds: [expect.any(String)] } };
      await expect(op.queues.rotateSigningSecret(account, queue.id, overlap)).rejects.toMatchObject(refused);
      expect(await signedWith(queue)).toEqual([queue.signingSecret, null]);
    },
  );

  it('may take a week', async () => {
    const queue = await createQueue();
    const { takesOverAt } = await op.queues.rotateSigningSecret(account, queue.id, OVERLAP_MAX);
    expect(takesOverAt.getTime()).toBe(now + OVERLAP_MAX * 1000);
  });
});
