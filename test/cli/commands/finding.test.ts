import { beforeAll, describe, expect, it } from 'vitest';
import { reportInstance } from '../../../src/db/insight/instances.ts';
import type { Account } from '../../../src/domain/account.ts';
import { claimOf } from '../../support/claim.ts';
import { createTestDatabase } from '../../support/database.ts';
import { openCommands } from '../../support/operator.ts';
import { SETTINGS } from '../../support/process-settings.ts';
import { openServices, type TestServices } from '../../support/services.ts';
import { UNKNOWN_ID } from '../../support/shapes.ts';

/** From the name of a queue, which is what an alert has, to the job that is late, with no id at the start. */

let op: TestServices;
let account: Account;
let other: Account;
let operator: ReturnType<typeof openCommands>;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  operator = openCommands(url);
  await op.db.query(`insert into account (name, plan) values ('first', 'pro'), ('second', 'pro')`);
  account = await op.firstAccount();
  const [, second] = await operator.json<{ id: string }[]>('account', 'list');
  other = { ...account, id: second?.id ?? '', name: 'second' };
});

const newQueue = (name: string, of = account) => op.queues.create(of, { name, webhookUrl: 'http://127.0.0.1:9/' });

async function publish(queue: string, settings: { delay?: number; idempotencyKey?: string } = {}): Promise<string> {
  const { job } = await op.jobs.publish(account, queue, { payload: '{"secret":"payload"}', delay: 0, ...settings });
  return job.id;
}

const idsOf = async (...argv: string[]) => {
  const jobs = await operator.json<{ id: string }[]>('job', 'list', ...argv);
  return jobs.map(({ id }) => id);
};

describe('a queue', () => {
  it('is found by its name, and by its id', async () => {
    const { id } = await newQueue('orders');
    expect(await operator.json('queue', 'show', 'orders')).toMatchObject({ queue: { id } });
    expect(await operator.json('queue', 'show', id)).toMatchObject({ queue: { name: 'orders' } });
    expect(await operator.json('queue', 'show', 'orders', '--account', account.id)).toMatchObject({ queue: { id } });
    expect(await operator.json('queue', 'pause', 'orders')).toEqual({ id, changed: true });
    expect(await operator.text('queue', 'pause', 'orders')).toBe('Queue orders is already paused.');
    expect(await operator.json('queue', 'resume', 'orders')).toEqual({ id, changed: true });
    expect(await op.auditOf(id)).toMatchObject([
      { action: 'queue.create' },
      { action: 'queue.pause', actor_type: 'operator' },
      { action: 'queue.resume' },
    ]);
  });

  it('a queue name of several accounts needs the account, and the error lists them', async () => {
    const [one, two] = [await newQueue('shared'), await newQueue('shared', other)];
    const refused = operator.run('queue', 'show', 'shared');
    await expect(refused).rejects.toThrow(`--account ${account.id}  first: queue ${one.id}`);
    await expect(refused).rejects.toThrow(`--account ${other.id}  second: queue ${two.id}`);
    expect(await operator.json('queue', 'show', 'shared', '--account', other.id)).toMatchObject({
      queue: { id: two.id },
    });
    await expect(operator.run('queue', 'show', one.id, '--account', other.id)).rejects.toThrow('does not exist');
  });

  it('a queue that does not exist is named, with the way to find it', async () => {
    await expect(operator.run('queue', 'show', 'nowhere')).rejects.toThrow(
      'queue nowhere does not exist: give its id or its whole name, or search with: queue list --name TEXT',
    );
    await expect(operator.run('queue', 'show', UNKNOWN_ID)).rejects.toThrow(`queue ${UNKNOWN_ID} does not exist`);
  });

  it('a deleted queue hides behind a live one with its name', async () => {
    const { id } = await newQueue('again');
    await op.queues.delete(account, id);
    expect(await operator.text('queue', 'show', 'again')).toMatch(/^state +deleted at /m);
    await expect(operator.run('queue', 'pause', 'again')).rejects.toThrow(`queue ${id} was deleted at`);
    const next = await newQueue('again');
    expect(await operator.json('queue', 'show', 'again')).toMatchObject({ queue: { id: next.id } });
  });

  it('is paused and resumed with all others of its receiver', async () => {
    const to = (name: string, path: string) => op.queues.create(account, { name, webhookUrl: `https://${path}` });
    const [one, two] = [await to('at-one', 'api.partner.com/a'), await to('at-two', 'API.partner.com:443/b')];
    await to('at-port', 'api.partner.com:8443/c');
    await to('elsewhere', 'api.partner.com.example/');
    expect(await operator.json('queue', 'pause', '--receiver', 'api.partner.com')).toEqual({
      queues: [
        { id: one.id, changed: true },
        { id: two.id, changed: true },
      ],
    });
    expect(await operator.text('queue', 'pause', '--receiver', 'API.partner.com', '--account', account.id)).toBe(
      'Queue at-one is already paused.\nQueue at-two is already paused.',
    );
    expect(await operator.text('queue', 'resume', 'at-one,at-two')).toBe(
      'Queue at-one is resumed.\nQueue at-two is resumed.',
    );
    await expect(operator.run('queue', 'pause', '--receiver', 'api.partner.com:9')).rejects.toThrow(
      'no queue delivers to api.partner.com:9: queues deliver to api.partner.com, api.partner.com:8443',
    );
    await expect(operator.run('queue', 'pause', '--receiver', 'nowhere.example')).rejects.toThrow(
      'no queue delivers to',
    );
    await expect(operator.run('queue', 'pause')).rejects.toThrow('the id or the name of the queue is missing');
    await expect(operator.run('queue', 'pause', 'at-one', '--receiver', 'x')).rejects.toThrow('not both');
  });

  it.each(['pause', 'resume', 'release-hold'])(
    'a receiver of several accounts needs the account to %s, and the error lists them',
    async (action) => {
      const host = `${action}.example`;
      const at = (name: string, of: Account) => op.queues.create(of, { name, webhookUrl: `https://${host}/` });
      const own = [await at(`${action}-1`, account), await at(`${action}-2`, account), await at(`${action}-3`, other)];
      const before = await operator.json('queue', 'show', `${action}-3`);
      await expect(operator.run('queue', action, '--receiver', host)).rejects.toThrow(
        [
          `queues of several accounts deliver to ${host}: add one of`,
          `  --account ${account.id}  first: 2 queues`,
          `  --account ${other.id}  second: 1 queue`,
        ].join('\n'),
      );
      expect((await Promise.all(own.map(({ id }) => op.auditOf(id)))).flat()).toHaveLength(own.length);
      expect(await operator.json('queue', 'show', `${action}-3`)).toEqual({
        ...(before as object),
        now: expect.any(String),
      });
      const done = await operator.json('queue', action, '--receiver', host, '--account', other.id);
      expect(done).toEqual({ queues: [{ id: own[2]?.id, changed: action === 'pause' }] });
    },
  );

  it('a receiver of many accounts lists five of them, and the number of the others', async () => {
    await op.db.query(`insert into account (name, plan) select 'many-' || n, 'pro' from generate_series(1, 5) n`);
    const accounts = await operator.json<{ id: string; name: string }[]>('account', 'list');
    for (const of of accounts)
      await op.queues.create({ ...account, id: of.id }, { name: 'many', webhookUrl: 'https://many.example/' });
    const error = await operator.run('queue', 'pause', '--receiver', 'many.example').catch(String);
    expect(String(error).split('\n')).toEqual([
      'UsageError: queues of several accounts deliver to many.example: add one of',
      ...accounts.slice(0, 5).map(({ id, name }) => `  --account ${id}  ${name}: 1 queue`),
      `  and ${accounts.length - 5} others`,
    ]);
  });

  it('is listed by a part of its name', async () => {
    const { id } = await newQueue('mails-eu_west');
    await newQueue('mails-euxwest');
    expect(await operator.json('queue', 'list', '--name', 'ILS-EU_')).toMatchObject([{ id }]);
    expect(await operator.json('queue', 'list', '--name', 'mails-eu', '--account', other.id)).toEqual([]);
  });

  it('is shown with its oldest due job, what waits for later and why, and a rotation', async () => {
    const { id } = await newQueue('waits');
    const oldest = await publish('waits');
    await publish('waits');
    const held = await publish('waits', { delay: 60 });
    const failed = await publish('waits', { delay: 90 });
    await publish('waits', { delay: 120 });
    await op.db.query(`update job set wait_reason = 'hold' where id = $1`, [held]);
    await op.db.query(`update job set wait_reason = 'backoff' where id = $1`, [failed]);
    await op.queues.rotateSigningSecret(account, id, 3600);
    const [due] = await op.db.query<{ at: Date }>('select scheduled_for as at from job where id = $1', [held]);
    expect(await operator.json('queue', 'show', 'waits')).toMatchObject({
      due: 2,
      later: 3,
      backoff: 1,
      held: 1,
      oldestDueId: oldest,
      nextDueAt: due?.at.toISOString(),
    });
    const text = await operator.text('queue', 'show', 'waits');
    expect(text).toMatch(new RegExp(`^oldest due +.*, job ${oldest}$`, 'm'));
    expect(text).toMatch(/^- after a failure +1\n- after a defer or back-pressure +1\nnext of them due +2/m);
    expect(text).toMatch(/^next signing secret +takes over at 2/m);
    expect(await operator.text('queue', 'release-hold', 'waits')).toMatch(
      /^Queue waits is not held, .* was already due\. But 1 of its jobs waits .*runJobsNow\.$/,
    );
  });
});

describe('job list', () => {
  it('has the jobs of a queue by status, without payloads', async () => {
    const { id: queueId } = await newQueue('jobs');
    const taken = await publish('jobs');
    await claimOf(op.db, queueId, 1);
    const dead = await publish('jobs', { delay: 5 });
    await op.jobs.cancel(account, dead);
    const late = await publish('jobs', { delay: 500 });
    const soon = await publish('jobs', { delay: 50 });
    expect(await idsOf('--queue', 'jobs')).toEqual([soon, late, dead, taken]);
    expect(await idsOf('--queue', queueId, '--limit', '2')).toEqual([soon, late]);
    expect(await idsOf('--queue', 'jobs', '--status', 'pending')).toEqual([soon, late]);
    expect(await idsOf('--queue', 'jobs', '--status', 'processing')).toEqual([taken]);
    expect(await idsOf('--queue', 'jobs', '--status', 'awaiting_ack')).toEqual([]);
    expect(await idsOf('--queue', 'jobs', '--status', 'dead')).toEqual([dead]);
    const completed = await operator.run('job', 'list', '--queue', 'jobs', '--status', 'completed');
    expect(completed.text).toContain('Queue jobs has no jobs that are completed.');
    const { json, text } = await operator.run('job', 'list', '--queue', 'jobs', '--json');
    expect(json).toMatchObject([
      { id: soon, status: 'pending', attempts: 0, lastError: null, createdAt: expect.any(Date) },
      { id: late },
      { id: dead, status: 'dead', lastError: 'cancelled' },
      { id: taken },
    ]);
    expect(text).toMatch(/^ID +STATUS +CREATED +DUE +ATTEMPTS +LAST ERROR\n/);
    expect(JSON.stringify(json)).not.toContain('payload');
  });

  it('refuses a status that there is not, and a queue that there is not', async () => {
    await expect(operator.run('job', 'list', '--queue', 'jobs', '--status', 'done')).rejects.toThrow(
      '--status must be one of pending, processing, awaiting_ack, completed, dead',
    );
    await expect(operator.run('job', 'list', '--queue', 'nowhere')).rejects.toThrow('does not exist');
    await expect(operator.run('job', 'list', '--queue', 'jobs', '--limit', '1001')).rejects.toThrow('from 1 to 1000');
  });
});

describe('job show', () => {
  it('finds a job by its idempotency key', async () => {
    await newQueue('keys');
    const id = await publish('keys', { idempotencyKey: 'order-7' });
    const show = (...argv: string[]) => operator.run('job', 'show', ...argv);
    expect((await show('--key', 'order-7', '--queue', 'keys')).json).toMatchObject({ job: { id } });
    await expect(show('--key', 'order-8', '--queue', 'keys')).rejects.toThrow(
      'queue keys has no job with the key order-8',
    );
    await expect(show('--key', 'order-7')).rejects.toThrow('--queue is missing');
    await expect(show(id, '--key', 'order-7', '--queue', 'keys')).rejects.toThrow('not both');
    await expect(show()).rejects.toThrow('the id of the job is missing');
  });

  it('says of a hold after a status code that its time may be the default', async () => {
    await newQueue('busy');
    const id = await publish('busy', { delay: 60 });
    await op.db.query(`update job set wait_reason = 'hold', last_error = 'HTTP 503' where id = $1`, [id]);
    expect(await operator.text('job', 'show', id)).toContain(
      'after “HTTP 503”: the time is that of the receiver’s Retry-After, or the default of 60 s.',
    );
    await op.db.query(`update job set last_error = 'tired' where id = $1`, [id]);
    expect(await operator.text('job', 'show', id)).toContain('after “tired”: the receiver requested a delay.');
  });
});

it('commands say that no worker runs, until one does', async () => {
  await newQueue('alone');
  const id = await publish('alone');
  const later = await publish('alone', { delay: 60 });
  expect(await operator.text('job', 'show', id)).toMatch(/^waits +No worker is running: nothing is delivered\.$/m);
  expect(await operator.text('job', 'show', later)).toMatch(/^waits +No worker is running: .*\. Delayed until/m);
  expect(await operator.text('queue', 'show', 'alone')).toMatch(/^workers +No worker is running/m);
  expect(await operator.text('queue', 'list')).toMatch(/\n\nNo worker is running: nothing is delivered\.$/);
  await reportInstance(op.db, null, {
    role: 'api',
    version: '1',
    inFlight: 0,
    capacity: 1,
    clockOffsetSeconds: null,
    address: null,
    ignored: [],
    settings: SETTINGS,
  });
  expect(await operator.json('queue', 'show', 'alone')).toMatchObject({ workerRunning: false });
  await reportInstance(op.db, null, {
    role: 'worker',
    version: '1',
    inFlight: 0,
    capacity: 1,
    clockOffsetSeconds: null,
    address: null,
    ignored: [],
    settings: SETTINGS,
  });
  expect(await operator.json('queue', 'show', 'alone')).toMatchObject({ workerRunning: true });
  expect(await operator.text('queue', 'show', 'alone')).toMatch(/^state +running$/m);
  expect(await operator.text('job', 'show', id)).toMatch(/^waits +Nothing delays the job/m);
  for (const argv of [['list'], ['show', 'alone']]) {
    expect(await operator.text('queue', ...argv)).not.toContain('No worker');
  }
});
