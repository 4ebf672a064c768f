import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../../src/domain/account.ts';
import { claimOf } from '../../support/claim.ts';
import { createTestDatabase } from '../../support/database.ts';
import { openCommands } from '../../support/operator.ts';
import { openServices, type TestServices } from '../../support/services.ts';
import { UNKNOWN_ID } from '../../support/shapes.ts';

/** The output of the operator's commands, without any worker. */

let op: TestServices;
let account: Account;
let operator: ReturnType<typeof openCommands>;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  operator = openCommands(url);
  await op.db.query(`insert into account (name, plan) values ('first', 'free'), ('second', 'gone')`);
  account = await op.firstAccount();
});

const newQueue = (name: string) => op.queues.create(account, { name, webhookUrl: 'http://127.0.0.1:9/' });

async function publish(queue: string, delay = 0): Promise<string> {
  return (await op.jobs.publish(account, queue, { payload: '{"secret":"payload"}', delay })).job.id;
}

describe('account', () => {
  it('list has all accounts in pages', async () => {
    const all = await operator.json<{ id: string; name: string }[]>('account', 'list');
    expect(all.map(({ name }) => name)).toEqual(['first', 'second']);
    expect(await operator.text('account', 'list', '--limit', '1')).toContain(`More: --after ${all[0]?.id}`);
    const rest = await operator.json('account', 'list', '--limit', '2', '--after', all[0]?.id ?? '');
    expect(rest).toMatchObject([{ name: 'second', plan: 'gone', keys: 0, queues: 0, attempts: 0 }]);
    expect(await operator.text('account', 'list')).toMatch(/^ID +NAME +PLAN .*\n.*first +free/);
  });

  it.each([['0'], ['1001'], ['x']])('list refuses a limit of %s', async (limit) => {
    await expect(operator.run('account', 'list', '--limit', limit)).rejects.toThrow('from 1 to 1000');
  });

  it('show has the limits of the plan, and says when PLANS does not name it', async () => {
    expect(await operator.json('account', 'show', account.id)).toMatchObject({ plan: 'free', monthlyAttempts: 30_000 });
    const [, second] = await operator.json<{ id: string }[]>('account', 'list');
    expect(await operator.text('account', 'show', second?.id ?? '')).toContain('gone (not in PLANS');
    await expect(operator.run('account', 'show', UNKNOWN_ID)).rejects.toThrow(`account ${UNKNOWN_ID} does not exist`);
    await expect(operator.run('account', 'show', 'x')).rejects.toThrow('24 hexadecimal digits');
  });

  it('usage has the attempts by month', async () => {
    const [, second] = await operator.json<{ id: string }[]>('account', 'list');
    const id = second?.id ?? '';
    expect(await operator.text('account', 'usage', id)).toBe('No delivery attempts yet.');
    await op.db.query(`insert into usage (account_id, month, attempts) values ($1, '2026-09', 7), ($1, '2026-10', 8)`, [
      id,
    ]);
    expect(await operator.json('account', 'usage', id)).toEqual([
      { month: '2026-10', attempts: 8 },
      { month: '2026-09', attempts: 7 },
    ]);
  });

  it('usage has the attempts of a month by queue', async () => {
    await op.db.query(
      `insert into queue_usage (account_id, month, queue_id, queue_name, success, failed, deferred, counted_until)
       values ($1, '2026-10', 'q1', 'orders', 5, 2, 1, now()), ($1, '2026-10', 'q2', 'mails', 9, 0, 0, now())`,
      [account.id],
    );
    const lines = (await operator.text('account', 'usage', account.id, '--month', '2026-10')).split('\n');
    expect(lines.map((line) => line.trim().split(/\s+/))).toEqual([
      ['QUEUE', 'ATTEMPTS', 'SUCCEEDED', 'FAILED', 'DEFERRED'],
      ['mails', '9', '9', '0', '0'],
      ['orders', '8', '5', '2', '1'],
    ]);
    expect(await operator.json('account', 'usage', account.id, '--month', '2026-10')).toMatchObject({
      countedUntil: null,
      queues: [{ queueName: 'mails', attempts: 9 }, { queueName: 'orders' }],
    });
    expect(await operator.text('account', 'usage', account.id, '--month', '2026-11')).toContain('No delivery attempts');
    await expect(operator.run('account', 'usage', account.id, '--month', '2026-13')).rejects.toThrow('--month must be');
  });

  it('set-plan changes the plan once, with an entry in the audit log', async () => {
    const { id } = await operator.json<{ id: string }>('account', 'create', '--name', 'third', '--plan', 'free');
    expect(await operator.json('account', 'set-plan', id, '--plan', 'pro')).toEqual({
      id,
      plan: 'pro',
      before: 'free',
    });
    expect(await operator.text('account', 'set-plan', id, '--plan', 'pro')).toContain('already');
    expect((await op.auditOf(id)).slice(1)).toMatchObject([
      { action: 'account.set_plan', actor_type: 'operator', before: { plan: 'free' }, after: { plan: 'pro' } },
    ]);
    await expect(operator.run('account', 'set-plan', id, '--plan', 'x')).rejects.toThrow('must be one of free, pro');
    await expect(operator.run('account', 'set-plan', UNKNOWN_ID, '--plan', 'pro')).rejects.toThrow('does not exist');
  });

  it('set-limits limits one account, with an entry in the audit log', async () => {
    const { id } = await operator.json<{ id: string }>('account', 'create', '--name', 'loud', '--plan', 'free');
    const set = (value: string) => ['account', 'set-limits', id, '--requests-per-second', value];
    expect(await operator.json(...set('50'))).toEqual({ id, requestsPerSecond: 50, before: null });
    expect(await operator.text(...set('50'))).toBe(`Account ${id}: requests per second 50 → 50`);
    expect(await operator.text('account', 'show', id)).toMatch(/^requests per second +50$/m);
    expect(await operator.json(...set('default'))).toEqual({ id, requestsPerSecond: null, before: 50 });
    expect(await operator.json('account', 'show', id)).toMatchObject({ requestsPerSecond: null });
    expect((await op.auditOf(id)).slice(1)).toMatchObject([
      { action: 'account.set_limits', before: { requestsPerSecond: null }, after: { requestsPerSecond: 50 } },
      { action: 'account.set_limits', before: { requestsPerSecond: 50 }, after: { requestsPerSecond: null } },
    ]);
    for (const value of ['0', '1.5', 'x', '1000001']) {
      await expect(operator.run(...set(value))).rejects.toThrow('must be from 1 to 1000000, or default');
    }
  });
});

it('key list has keys that are in force, and with --revoked the others', async () => {
  const { id: accountId } = await operator.json<{ id: string }>('account', 'create', '--name', 'k', '--plan', 'free');
  const made = [];
  for (let n = 0; n < 2; n += 1) {
    made.push(await operator.json<{ id: string; key: string }>('key', 'create', '--account', accountId));
  }
  const [first, second] = made;
  await operator.run('key', 'revoke', first?.id ?? '');
  expect(await operator.json('key', 'list', '--account', accountId)).toMatchObject([
    { id: second?.id, accountId, createdBy: 'operator', lastUsedAt: null },
  ]);
  const all = await operator.run('key', 'list', '--account', accountId, '--revoked');
  expect(all.json).toMatchObject([{ id: first?.id, revokedAt: expect.any(Date) }, { id: second?.id }]);
  for (const { key } of made) expect(JSON.stringify(all)).not.toContain(key);
});

it('key create repeats the name, and names queues that are not there', async () => {
  const args = ['key', 'create', '--account', account.id, '--name', 'shop', '--scopes', 'publish', '--queues'];
  const { id } = await newQueue('there');
  const made = await operator.run(...args, 'there,mails');
  expect(made.json).toMatchObject({ name: 'shop', unknownQueues: ['mails'] });
  expect(made.text).toMatch(/^name +shop$/m);
  expect(made.text).toMatch(/^no such queue yet +mails$/m);
  expect(await operator.text(...args, 'there')).not.toContain('no such queue');
  await op.queues.delete(account, id);
});

it('config check warns of a short retention', async () => {
  const { text } = await openCommands(op.db.pool.options.connectionString ?? '', { JOB_RETENTION_SECONDS: '10' }).run(
    ...['config', 'check'],
  );
  expect(text).toMatch(/^warning: JOB_RETENTION_SECONDS is shorter/m);
});

describe('queue', () => {
  it('list and show say what stops a queue; resume and release-hold end it once', async () => {
    const { id, name } = await newQueue('stopped');
    await publish('stopped');
    await publish('stopped', 60);
    await op.queues.pause(account, id);
    expect(await operator.json('queue', 'list', '--account', account.id)).toMatchObject([
      { id, name, accountId: account.id, inFlight: 0, pausedBy: account.actor.label, oldestDueAt: expect.any(String) },
    ]);
    expect(await operator.json('queue', 'show', id)).toMatchObject({ due: 1, later: 1, inFlight: 0, dead: 0 });
    expect(await operator.text('queue', 'show', id)).toMatch(/^state +paused$/m);
    expect(await operator.json('queue', 'resume', id)).toEqual({ id, changed: true });
    expect(await operator.text('queue', 'resume', id)).toBe('Queue stopped is not paused.');

    await op.db.query(`update queue set hold_until = jobferry_now() + interval '1 h' where id = $1`, [id]);
    expect(await operator.text('queue', 'list', '--account', account.id)).toContain('held until');
    expect(await operator.json('queue', 'release-hold', id)).toEqual({ id, changed: true });
    expect(await operator.json('queue', 'release-hold', id)).toEqual({ id, changed: false });
    expect(await operator.text('queue', 'show', id)).toMatch(/^state +running$/m);
    await op.db.query(
      `update job set scheduled_for = jobferry_now() - interval '61 s'
        where queue_id = $1 and scheduled_for <= jobferry_now()`,
      [id],
    );
    expect(await operator.text('queue', 'list', '--account', account.id)).toMatch(/ stopped +behind +0\//);
    expect(await operator.text('queue', 'show', id)).toMatch(/^state +behind$/m);
    expect((await op.auditOf(id)).filter(({ actor_type: type }) => type === 'operator')).toMatchObject([
      { action: 'queue.resume' },
      { action: 'queue.end_hold' },
    ]);
  });

  it('show names the breaker, and while it is open since when, its failed probes and the next one', async () => {
    const { id } = await newQueue('broken');
    expect(await operator.text('queue', 'show', id)).toMatch(/^breaker +-$/m);
    await op.db.query('update queue set breaker_failures = 10, breaker_seconds = 120 where id = $1', [id]);
    const shown = await operator.text('queue', 'show', id);
    expect(shown).toMatch(
      /^breaker +opens after 10 failed answers in a row, or when all answers of 120 s have failed$/m,
    );
    expect(shown).not.toContain('next probe');
    await op.db.query(
      `update queue set breaker_opened_at = '2040-01-01 10:00Z', breaker_probes = 2, breaker_until = '2040-01-01 10:01Z',
              hold_until = '2040-01-01 10:01Z' where id = $1`,
      [id],
    );
    expect(await operator.text('queue', 'show', id)).toMatch(
      /^breaker open since +2040-01-01 10:00:00.*\nfailed probes +2\nnext probe +2040-01-01 10:01:00/m,
    );
  });

  it('show never shows a signing secret', async () => {
    const { id, signingSecret } = await newQueue('secret');
    expect(JSON.stringify(await operator.run('queue', 'show', id))).not.toContain(signingSecret);
  });

  it('a deleted queue is shown as deleted, and cannot be resumed', async () => {
    const { id } = await newQueue('deleted');
    await publish('deleted');
    await op.queues.delete(account, id);
    expect(await operator.text('queue', 'show', id)).toMatch(/^state +deleted at /m);
    await expect(operator.run('queue', 'resume', id)).rejects.toThrow(`queue ${id} was deleted at`);
    await expect(operator.run('queue', 'show', UNKNOWN_ID)).rejects.toThrow('does not exist');
  });
});

describe('job show', () => {
  it('has the life of the job, why it waits, and no payload', async () => {
    const { id: queueId } = await newQueue('life');
    const id = await publish('life', 60);
    const waiting = await operator.run('job', 'show', id);
    expect(waiting.json).toMatchObject({
      queue: 'life',
      waiting: { reason: 'delayed' },
      life: [{ what: 'published' }],
    });
    expect(waiting.text).toMatch(/^waits +No worker is running: nothing is delivered. Delayed until/m);
    await op.jobs.runNow(account, id);
    await claimOf(op.db, queueId, 1);
    const running = await operator.run('job', 'show', id);
    expect(running.text).toMatch(/delivery 1 started by worker/);
    expect(JSON.stringify([waiting, running])).not.toContain('payload"');
    await expect(operator.run('job', 'show', UNKNOWN_ID)).rejects.toThrow(`job ${UNKNOWN_ID} does not exist`);
  });

  it('names the actor that cancelled it', async () => {
    await newQueue('cancelled');
    const id = await publish('cancelled', 60);
    await op.jobs.cancel(account, id);
    expect(await operator.text('job', 'show', id)).toContain(`dead: cancelled, cancelled by ${account.actor.label}`);
  });
});
