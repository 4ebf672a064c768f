import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { settle } from '../../src/db/delivery/settle.ts';
import type { Account } from '../../src/domain/account.ts';
import { type Actor, OPERATOR } from '../../src/domain/audit.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { settlementOf } from '../support/database-fixture.ts';
import { openServices, type TestServices } from '../support/services.ts';

/** Publishes and reports of people are in the audit log, although those of programs are not. */

const MEMBER: Actor = { type: 'member', id: 'c'.repeat(24), label: 'ada@example.com' };

let op: TestServices;
let owner: Account;
let queues = 0;

beforeAll(async () => {
  op = openServices((await createTestDatabase()).url, { encryptionKeys: [randomBytes(32)] });
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  owner = await op.firstAccount();
});

async function createQueue() {
  queues += 1;
  const settings = { name: `queue-${queues}`, webhookUrl: 'http://127.0.0.1:9/', mode: 'ack' } as const;
  return op.queues.create(owner, settings);
}

type Queue = Awaited<ReturnType<typeof createQueue>>;

/** Jobs that await a report, oldest first. */
async function awaiting(queue: Queue, count: number): Promise<string[]> {
  await op.jobs.publishMany(owner, Array(count).fill({ queueName: queue.name, payload: '{}' }));
  const { jobs } = await claimOf(op.db, queue.id, count);
  const accepted = { type: 'answered', outcome: { kind: 'accepted', statusCode: 202 } } as const;
  await settle(
    op.db,
    jobs.map((job) => settlementOf(job, accepted, Date.now())),
  );
  return jobs.map(({ id }) => id).sort();
}

/** The entries about something that are not of the owner's key, without what all of them have. */
async function entriesOf(targetId: string) {
  const rows = await op.auditOf(targetId);
  return rows
    .filter(({ actor_type: type }) => type !== 'api_key')
    .map(({ actor_type, actor_id, actor_label, target_id: _, ...entry }) => ({ by: actor_label, ...entry }));
}

describe.each([
  ['a member', MEMBER],
  ['the operator', OPERATOR],
])('the audit log for %s', (_name, actor) => {
  const person = () => ({ ...owner, actor });
  const about = (action: string, target_type: string) => ({
    by: actor.label,
    action,
    target_type,
    target_name: null,
    before: null,
  });

  it('has a published job, without its payload', async () => {
    const queue = await createQueue();
    const input = { queueName: queue.name, payload: '{"card":"hush"}', idempotencyKey: 'one' };
    const [published] = await op.jobs.publishMany(person(), [input]);
    const id = published?.outcome === 'created' ? published.id : '';
    expect(await entriesOf(id)).toEqual([{ ...about('job.publish', 'job'), after: { queue: queue.name } }]);
    // A key that is used again creates no job.
    expect(await op.jobs.publishMany(person(), [input])).toMatchObject([{ outcome: 'existing', id }]);
    expect(await entriesOf(id)).toHaveLength(1);
    expect(await entriesOf(queue.id)).toEqual([]);
  });

  it('has many published jobs once for each queue, by their number and up to 100 ids', async () => {
    const [one, two] = [await createQueue(), await createQueue()];
    const inputs = [
      ...Array.from({ length: 250 }, () => ({ queueName: one.name, payload: '{"card":"hush"}' })),
      { queueName: two.name, payload: '{}' },
      { queueName: two.name, payload: '{}', idempotencyKey: 'x' },
      { queueName: two.name, payload: '{}', idempotencyKey: 'x' },
      { queueName: 'none', payload: '{}' },
      { queueName: two.name, payload: '[]' },
    ];
    const outcomes = await op.jobs.publishMany(person(), inputs);
    const ids = outcomes.map((outcome) => ('id' in outcome ? outcome.id : null));
    expect(outcomes.slice(-5).map(({ outcome }) => outcome)).toEqual([
      'created',
      'created',
      'existing',
      'refused',
      'refused',
    ]);
    expect(ids[252]).toBe(ids[251]);
    expect(await entriesOf(one.id)).toEqual([
      { ...about('jobs.publish', 'queue'), target_name: one.name, after: { jobs: 250, jobIds: ids.slice(0, 100) } },
    ]);
    expect(await entriesOf(two.id)).toEqual([
      { ...about('jobs.publish', 'queue'), target_name: two.name, after: { jobs: 2, jobIds: ids.slice(250, 252) } },
    ]);
  });

  it('has jobs of a queue that encrypts once', async () => {
    const queue = await createQueue();
    await op.queues.setPayloadEncryption(owner, queue.id, true);
    const inputs = Array.from({ length: 3 }, () => ({ queueName: queue.name, payload: '{"card":"hush"}' }));
    await op.jobs.publishMany(person(), inputs);
    await op.queues.setPayloadEncryption(owner, queue.id, false);
    await op.jobs.publishMany(person(), inputs);
    expect((await entriesOf(queue.id)).map(({ after }) => after)).toEqual([
      expect.objectContaining({ jobs: 3 }),
      expect.objectContaining({ jobs: 3 }),
    ]);
  });

  it('has reports without their reasons', async () => {
    const queue = await createQueue();
    const [acked = '', retried = '', dead = '', held = '', extended = ''] = await awaiting(queue, 5);
    await op.jobs.ack(person(), acked);
    await op.jobs.nack(person(), retried, { retryable: true, reason: 'hush' });
    await op.jobs.nack(person(), dead, { retryable: false, reason: 'hush' });
    await op.jobs.defer(person(), held, { retryAfter: 1.5, scope: 'job', reason: 'hush' });
    const deadline = await op.jobs.extendAck(person(), extended, 60, 'hush');
    const before = { status: 'awaiting_ack' };
    const entry = (action: string, after: object) => [{ ...about(action, 'job'), before, after }];
    expect(await entriesOf(acked)).toEqual(entry('job.ack', { status: 'completed' }));
    expect(await entriesOf(retried)).toEqual(entry('job.nack', { status: 'pending', retryable: true }));
    expect(await entriesOf(dead)).toEqual(entry('job.nack', { status: 'dead', retryable: false }));
    expect(await entriesOf(held)).toEqual(entry('job.defer', { status: 'pending', scope: 'job', retryAfter: 1.5 }));
    expect(await entriesOf(extended)).toEqual([
      { ...about('job.extend_ack', 'job'), after: { deadline: deadline.toISOString() } },
    ]);
    // A report that is refused changes nothing.
    await expect(op.jobs.ack(person(), acked)).rejects.toMatchObject({ kind: 'invalid_request' });
    expect(await entriesOf(acked)).toHaveLength(1);
  });

  it('has it in the same commit: what cannot be written is not done', async () => {
    const queue = await createQueue();
    const [acked = '', extended = ''] = await awaiting(queue, 2);
    const jobs = () => op.db.query('select * from job where queue_id = $1 order by id', [queue.id]);
    const before = await jobs();
    await op.db.query(`alter table audit_entry add constraint full_up check (at < '2000-01-01') not valid`);
    const input = { queueName: queue.name, payload: '{}' };
    expect(await op.jobs.publishMany(person(), [input, input])).toMatchObject(Array(2).fill({ outcome: 'refused' }));
    await expect(op.jobs.ack(person(), acked)).rejects.toThrow();
    await expect(op.jobs.extendAck(person(), extended, 600, null)).rejects.toThrow();
    expect(await jobs()).toEqual(before);
    // Programs have no entry that could fail.
    expect(await op.jobs.publishMany(owner, [input])).toMatchObject([{ outcome: 'created' }]);
    await op.db.query('alter table audit_entry drop constraint full_up');
  });
});

it('has no payload and no reason', async () => {
  const rows = await op.db.query<{ text: string }>('select audit_entry::text as text from audit_entry');
  expect(rows.filter(({ text }) => text.includes('hush'))).toEqual([]);
});
