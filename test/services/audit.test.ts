import { beforeAll, describe, expect, it } from 'vitest';
import { settle } from '../../src/db/delivery/settle.ts';
import { sweepByTime } from '../../src/db/retention/sweep.ts';
import type { Account } from '../../src/domain/account.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { openFixture, PERIODS, settlementOf } from '../support/database-fixture.ts';
import { type AuditRow, openServices, type TestServices } from '../support/services.ts';
import { DATE_TIME, ID } from '../support/shapes.ts';

const WEBHOOK = 'http://127.0.0.1:9/';

let op: TestServices;
let account: Account;
let names = 0;

async function open(): Promise<[TestServices, Account]> {
  const { url } = await createTestDatabase();
  const opened = openServices(url);
  await opened.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  return [opened, await opened.firstAccount()];
}

beforeAll(async () => {
  [op, account] = await open();
});

function createQueue(settings: object = {}, of = op, by = account) {
  names += 1;
  return of.queues.create(by, { name: `queue-${names}`, webhookUrl: WEBHOOK, ...settings });
}

async function publish(queueName: string, of = op, by = account): Promise<string> {
  return (await of.jobs.publish(by, queueName, { payload: '{}', delay: 60 })).job.id;
}

/** So many jobs of a queue, dead by their only attempt; ids of the dead letters. */
async function deadLetters(queue: { id: string; name: string }, count: number, of = op, by = account) {
  const inputs = Array.from({ length: count }, () => ({ queueName: queue.name, payload: '{}' }));
  await of.jobs.publishMany(by, inputs);
  const claimed = await claimOf(of.db, queue.id, count);
  const failed = { type: 'answered', outcome: { kind: 'failed', statusCode: 500, error: 'HTTP 500' } } as const;
  await settle(
    of.db,
    claimed.jobs.map((job) => settlementOf(job, failed, Date.now())),
  );
  const rows = await of.db.query<{ id: string }>('select id from dead_letter where queue_id = $1 order by id', [
    queue.id,
  ]);
  return rows.map((row) => row.id);
}

function actions(rows: AuditRow[]): string[] {
  return rows.map((row) => row.action);
}

describe('the audit log', () => {
  it('names the actor and the target', async () => {
    const queue = await createQueue();
    const { id, label } = account.actor;
    const said = { actor_type: 'api_key', actor_id: id, actor_label: label, target_type: 'queue', target_id: queue.id };
    expect(await op.auditOf(queue.id)).toMatchObject([{ ...said, target_name: queue.name, action: 'queue.create' }]);
  });

  it('has all settings of a queue when it comes and when it goes', async () => {
    const queue = await createQueue({ maxAttempts: 7, rateLimitMax: 3, dlqEnabled: false });
    await op.queues.delete(account, queue.id);
    const [created, deleted] = await op.auditOf(queue.id);
    const { id: _id, createdAt: _createdAt, signingSecret: _secret, ...settings } = queue;
    expect(created).toMatchObject({ action: 'queue.create', before: null });
    expect(created?.after).toEqual(settings);
    expect(deleted).toMatchObject({ action: 'queue.delete', after: null });
    expect(deleted?.before).toEqual(settings);
  });

  it('has of an update what got another value, and nothing when nothing did', async () => {
    const queue = await createQueue({ maxAttempts: 7, rateLimitMax: 3 });
    const { id: _id, createdAt: _createdAt, signingSecret: _secret, ...present } = queue;
    await op.queues.update(account, queue.id, present);
    await op.queues.update(account, queue.id, {});
    await op.queues.update(account, queue.id, { ...present, rateLimitMax: null, mode: 'ack' });
    const [, ...updates] = await op.auditOf(queue.id);
    expect(updates).toEqual([
      expect.objectContaining({
        action: 'queue.update',
        before: { rateLimitMax: 3, mode: 'standard' },
        after: { rateLimitMax: null, mode: 'ack' },
      }),
    ]);
  });

  it('has pauses and resumes once', async () => {
    const queue = await createQueue();
    for (const ask of ['pause', 'pause', 'resume', 'resume'] as const) await op.queues[ask](account, queue.id);
    const [, ...entries] = await op.auditOf(queue.id);
    const paused = { pausedAt: DATE_TIME, pausedBy: account.actor.label };
    const running = { pausedAt: null, pausedBy: null };
    expect(entries).toEqual([
      expect.objectContaining({ action: 'queue.pause', before: running, after: paused }),
      expect.objectContaining({ action: 'queue.resume', before: paused, after: running }),
    ]);
  });

  it('has rotations, and what they ended', async () => {
    const queue = await createQueue();
    const first = await op.queues.rotateSigningSecret(account, queue.id, 60);
    const second = await op.queues.rotateSigningSecret(account, queue.id, 0);
    const third = await op.queues.rotateSigningSecret(account, queue.id, 60);
    // Nothing of a rotation whose overlap is over is lost by the next one.
    await op.db.query(`update queue set next_signing_secret_at = jobferry_now() - interval '1 s' where id = $1`, [
      queue.id,
    ]);
    const fourth = await op.queues.rotateSigningSecret(account, queue.id, 0);
    const [, ...entries] = await op.auditOf(queue.id);
    const planned = ({ takesOverAt }: { takesOverAt: Date }) => ({ takesOverAt: takesOverAt.toISOString() });
    expect(entries.map(({ action, before, after }) => ({ action, before, after }))).toEqual([
      { action: 'queue.rotate_secret', before: null, after: planned(first) },
      { action: 'queue.rotate_secret', before: planned(first), after: planned(second) },
      { action: 'queue.rotate_secret', before: null, after: planned(third) },
      { action: 'queue.rotate_secret', before: null, after: planned(fourth) },
    ]);
  });

  it('has what was done to a job', async () => {
    const queue = await createQueue();
    const id = await publish(queue.name);
    const { scheduledFor } = await op.jobs.get(account, id);
    await op.jobs.runNow(account, id);
    await op.jobs.runNow(account, id); // it is due already
    const now = (await op.jobs.get(account, id)).scheduledFor.toISOString();
    await op.jobs.cancel(account, id);
    await expect(op.jobs.cancel(account, id)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await op.auditOf(id)).toEqual([
      expect.objectContaining({
        action: 'job.run_now',
        before: { scheduledFor: scheduledFor.toISOString() },
        after: { scheduledFor: now },
      }),
      expect.objectContaining({ action: 'job.cancel', before: { status: 'pending' }, after: { status: 'dead' } }),
    ]);
  });

  it('has replays: of one with its new job, of many with their number and up to 100 ids', async () => {
    const queue = await createQueue({ maxAttempts: 1, concurrency: 500 });
    const ids = await deadLetters(queue, 103);
    const [first = '', second = '', ...rest] = ids;
    const { id: jobId } = await op.deadLetters.replay(account, queue.id, first);
    expect(await op.auditOf(first)).toMatchObject([
      { action: 'dead_letter.replay', target_type: 'dead_letter', after: { jobId } },
    ]);
    await op.deadLetters.replayMany(account, queue.id, [second, first, 'f'.repeat(24)]);
    await op.deadLetters.replayMany(account, queue.id, 'all');
    // These change nothing.
    await op.deadLetters.replayMany(account, queue.id, 'all');
    await op.deadLetters.replayMany(account, queue.id, [first]);
    await expect(op.deadLetters.replay(account, queue.id, first)).rejects.toMatchObject({ kind: 'conflict' });
    const [, ...entries] = await op.auditOf(queue.id);
    expect(actions(entries)).toEqual(['dead_letters.replay', 'dead_letters.replay']);
    expect(entries[0]).toMatchObject({ target_name: queue.name, after: { jobs: 1, deadLetterIds: [second] } });
    expect(entries[1]?.after).toEqual({ jobs: 101, deadLetterIds: rest.slice(0, 100) });
    expect(await op.auditOf(first)).toHaveLength(1);
  });

  it('has keys, by what people recognise them by', async () => {
    const { id, key } = await op.accounts.createApiKey(account, 'ci');
    await op.accounts.revokeApiKey(account, id);
    const facts = { name: 'ci', prefix: key.slice(0, 6), lastFour: key.slice(-4) };
    const said = { target_type: 'api_key', target_name: 'ci' };
    expect(await op.auditOf(id)).toEqual([
      expect.objectContaining({ ...said, action: 'api_key.create', before: null, after: facts }),
      expect.objectContaining({ ...said, action: 'api_key.revoke', before: facts, after: null }),
    ]);
  });

  it('leaves the work of programs out', async () => {
    const queue = await createQueue({ mode: 'ack' });
    const ids = (await op.jobs.publishMany(account, Array(4).fill({ queueName: queue.name, payload: '{}' }))).map(
      (answer) => ('id' in answer ? answer.id : ''),
    );
    const claimed = await claimOf(op.db, queue.id, 4);
    const accepted = { type: 'answered', outcome: { kind: 'accepted', statusCode: 202 } } as const;
    await settle(
      op.db,
      claimed.jobs.map((job) => settlementOf(job, accepted, Date.now())),
    );
    const [acked = '', nacked = '', deferred = '', extended = ''] = ids;
    await op.jobs.ack(account, acked);
    await op.jobs.nack(account, nacked, { retryable: true, reason: null });
    await op.jobs.defer(account, deferred, { retryAfter: 1, scope: 'job', reason: null });
    await op.jobs.extendAck(account, extended, 60, 'half');
    for (const id of ids) expect(await op.auditOf(id)).toEqual([]);
    expect(actions(await op.auditOf(queue.id))).toEqual(['queue.create']);
  });

  it('has nothing of what was refused', async () => {
    const queue = await createQueue();
    const count = async () => (await op.db.query('select from audit_entry')).length;
    const before = await count();
    const stranger = { ...account, id: 'b'.repeat(24) };
    const refused = [
      () => op.queues.create(account, { name: queue.name, webhookUrl: WEBHOOK }),
      () => op.queues.update(account, queue.id, { name: 'another', concurrency: 9 }),
      () => op.queues.update(account, queue.id, { maxAttempts: 1_000 }),
      () => op.queues.pause(stranger, queue.id),
      () => op.queues.resume(stranger, queue.id),
      () => op.queues.rotateSigningSecret(stranger, queue.id, 1),
      () => op.queues.rotateSigningSecret(account, queue.id, -1),
      () => op.accounts.createApiKey(account, ''),
      () => op.accounts.revokeApiKey(account, account.actor.id ?? ''),
    ];
    for (const call of refused) await expect(call()).rejects.toMatchObject({ name: 'JobferryError' });
    expect(await count()).toBe(before);
  });

  it('never has a signing secret or the hash of a key', async () => {
    const rows = await op.db.query<{ text: string }>('select audit_entry::text as text from audit_entry');
    expect(rows.length).toBeGreaterThan(20);
    const secrets = await op.db.query<{ secret: string }>(
      `select signing_secret as secret from queue union select next_signing_secret from queue union select hash from api_key`,
    );
    for (const { secret } of secrets) {
      if (secret !== null) expect(rows.filter(({ text }) => text.includes(secret))).toEqual([]);
    }
    expect(rows.filter(({ text }) => text.includes('whsec_'))).toEqual([]);
  });
});

describe('a change that cannot be written into the audit log', () => {
  it('is not made', async () => {
    const [broken, by] = await open();
    const queue = await createQueue({ maxAttempts: 1 }, broken, by);
    const paused = await createQueue({}, broken, by);
    await broken.queues.pause(by, paused.id);
    const [held, rotating] = [await createQueue({}, broken, by), await createQueue({}, broken, by)];
    await broken.db.query(`update queue set hold_until = jobferry_now() + interval '1 hour' where id = $1`, [held.id]);
    await broken.queues.rotateSigningSecret(by, rotating.id, 60);
    const [letter = '', other = ''] = await deadLetters(queue, 2, broken, by);
    const [pending, cancellable] = [await publish(queue.name, broken, by), await publish(queue.name, broken, by)];
    const { id: keyId } = await broken.accounts.createApiKey(by, null);
    const picture = () =>
      broken.db.query(
        `select (select json_agg(q order by id)::text from queue q) as queues, (select json_agg(j order by id)::text from job j) as jobs,
                (select json_agg(k order by id)::text from api_key k) as keys, (select count(*) from audit_entry) as entries,
                (select json_agg(d order by id)::text from dead_letter d) as letters`,
      );
    const before = await picture();
    await broken.db.query(`alter table audit_entry add constraint full_up check (at < '2000-01-01') not valid`);
    const calls: [string, () => Promise<unknown>][] = [
      ['queue.create', () => broken.queues.create(by, { name: 'new', webhookUrl: WEBHOOK })],
      ['queue.update', () => broken.queues.update(by, queue.id, { concurrency: 9 })],
      ['queue.delete', () => broken.queues.delete(by, queue.id)],
      ['queue.pause', () => broken.queues.pause(by, queue.id)],
      ['queue.resume', () => broken.queues.resume(by, paused.id)],
      ['queue.end_hold', () => broken.queues.endHold(by, held.id)],
      ['queue.finish_rotation', () => broken.queues.finishSecretRotation(by, rotating.id)],
      ['queue.rotate_secret', () => broken.queues.rotateSigningSecret(by, queue.id, 0)],
      ['job.run_now', () => broken.jobs.runNow(by, pending)],
      ['job.cancel', () => broken.jobs.cancel(by, cancellable)],
      ['dead_letter.replay', () => broken.deadLetters.replay(by, queue.id, letter)],
      ['dead_letters.replay', () => broken.deadLetters.replayMany(by, queue.id, [other])],
      ['api_key.create', () => broken.accounts.createApiKey(by, null)],
      ['api_key.revoke', () => broken.accounts.revokeApiKey(by, keyId)],
    ];
    for (const [action, call] of calls) await expect(call(), action).rejects.toThrow();
    expect(await picture()).toEqual(before);
    await broken.db.query('alter table audit_entry drop constraint full_up');
    // Each could be done, or the above would have shown nothing. Deletion would be in the others' way.
    for (const [action, call] of calls) if (action !== 'queue.delete') await call();
    await broken.queues.delete(by, queue.id);
    const done = await broken.db.query<AuditRow>('select action from audit_entry order by id');
    expect(actions(done)).toEqual(expect.arrayContaining(calls.map(([action]) => action)));
  });
});

describe('entries of the audit log', () => {
  it('are kept for 366 days, and removed batch after batch', async () => {
    const { db, accountId } = await openFixture();
    const insert = (days: number, count: number) =>
      db.query(
        `insert into audit_entry (id, account_id, actor_type, actor_label, action, target_type, target_id)
         select jobferry_id(jobferry_now() - $1 * interval '1 day'), $2, 'operator', 'operator', 'queue.create', 'queue', ''
           from generate_series(1, $3)`,
        [days, accountId, count],
      );
    await insert(366.1, 501);
    await insert(365.9, 2);
    const sweep = () => sweepByTime(db, 'audit', Date.now(), PERIODS);
    expect([await sweep(), await sweep(), await sweep()]).toEqual([500, 1, 0]);
    const left = await db.query<{ id: string }>('select id from audit_entry');
    expect(left).toEqual([{ id: ID }, { id: ID }]);
  });
});
