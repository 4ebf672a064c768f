import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { CreateQueueInput } from '../../src/services/queues/manage.ts';
import type { SeveralQueues } from '../../src/services/queues/several.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

const REAL = { dryRun: false };
const DRY = { dryRun: true };

let op: TestServices;
let account: Account;
let other: Account;
let names = 0;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  await op.db.query(`insert into account (name, plan) values ('first', 'pro'), ('second', 'pro')`);
  account = await op.firstAccount();
  const rows = await op.db.query<{ id: string }>(`select id from account where name = 'second'`);
  other = { ...account, id: rows[0]?.id ?? '', name: 'second' };
});

beforeEach(async () => {
  await op.db.query('update queue set deleted_at = jobferry_now() where deleted_at is null');
});

function create(settings: Partial<CreateQueueInput> = {}, of = account) {
  names += 1;
  return op.queues.create(of, { name: `several-${names}`, webhookUrl: 'https://api.partner.com/jobs', ...settings });
}

const outcomes = ({ queues }: SeveralQueues) => queues.map(({ outcome }) => outcome);

async function pausedIds(): Promise<string[]> {
  const rows = await op.db.query<{ id: string }>(
    'select id from queue where paused_at is not null and deleted_at is null order by id',
  );
  return rows.map(({ id }) => id);
}

describe('a choice of queues', () => {
  it('is all of a receiver: the host with its port, unless it is the default of the scheme', async () => {
    const here = await create({ webhookUrl: 'https://API.partner.com:443/other?x=1' });
    const too = await create();
    await create({ webhookUrl: 'https://api.partner.com:8443/jobs' });
    await create({ webhookUrl: 'https://partner.com/' });
    await create({}, other);
    const paused = await op.queues.pauseSeveral(account, { receiver: 'api.Partner.com' }, REAL);
    expect(paused.queues).toMatchObject([
      { id: here.id, name: here.name, outcome: 'changed' },
      { id: too.id, outcome: 'changed' },
    ]);
    expect(await pausedIds()).toEqual([here.id, too.id]);
  });

  it('a receiver without queues is refused, and the error names the ports that the host has', async () => {
    await create({ webhookUrl: 'https://api.partner.com:8443/jobs' });
    const refused = op.queues.pauseSeveral(account, { receiver: 'api.partner.com' }, REAL);
    await expect(refused).rejects.toMatchObject({
      kind: 'not_found',
      message: 'no queue delivers to api.partner.com: queues deliver to api.partner.com:8443',
    });
    await expect(op.queues.pauseSeveral(account, { receiver: 'nowhere' }, DRY)).rejects.toThrow(
      'no queue delivers to nowhere: give the host of the webhook URL',
    );
  });

  it('is by ids or by names, each once, and says which do not exist', async () => {
    const [one, two, foreign] = [await create(), await create(), await create({}, other)];
    const byIds = await op.queues.pauseSeveral(account, { ids: [two.id, 'x', foreign.id, two.id] }, REAL);
    expect(byIds.queues).toMatchObject([
      { id: two.id, outcome: 'changed' },
      { id: 'x', name: null, outcome: 'not_found' },
      { id: foreign.id, name: null, outcome: 'not_found' },
    ]);
    const byNames = await op.queues.pauseSeveral(account, { names: [one.name, 'none', two.name] }, REAL);
    expect(byNames.queues).toMatchObject([
      { id: one.id, outcome: 'changed' },
      { id: null, name: 'none', outcome: 'not_found' },
      { id: two.id, outcome: 'unchanged' },
    ]);
    expect(await pausedIds()).toEqual([one.id, two.id]);
  });

  it.each([
    [{}],
    [{ ids: [] }],
    [{ ids: [UNKNOWN_ID], names: ['a'] }],
    [{ ids: Array.from({ length: 1001 }, (_, n) => String(n)) }],
  ])('%j is refused', async (choice) => {
    await expect(op.queues.pauseSeveral(account, choice, REAL)).rejects.toMatchObject({ kind: 'invalid_fields' });
  });
});

describe('pausing several', () => {
  it('has one entry for each queue that it changes, and one start', async () => {
    const queues = [await create(), await create(), await create()];
    const [first, second, third] = queues.map(({ id }) => id);
    await op.queues.pause(account, second ?? '');
    const choice = { ids: [first ?? '', second ?? '', third ?? ''] };
    const would = await op.queues.pauseSeveral(account, choice, DRY);
    expect([outcomes(would), would.pausedAt]).toEqual([['changed', 'unchanged', 'changed'], null]);
    expect(await pausedIds()).toEqual([second]);

    const paused = await op.queues.pauseSeveral(account, choice, REAL);
    expect(outcomes(paused)).toEqual(['changed', 'unchanged', 'changed']);
    for (const id of [first, second, third])
      expect(await op.auditOf(id ?? '')).toMatchObject([{ action: 'queue.create' }, { action: 'queue.pause' }]);
    const starts = await op.db.query<{ at: Date }>('select paused_at as at from queue where id = any ($1)', [
      [first, third],
    ]);
    expect(starts.map(({ at }) => at)).toEqual([paused.pausedAt, paused.pausedAt]);
  });

  it('is undone where nothing else has happened since', async () => {
    const ids = (await Promise.all([create(), create(), create(), create()])).map(({ id }) => id);
    const [kept, again, , gone] = ids;
    await op.queues.pause(account, kept ?? '');
    const { pausedAt } = await op.queues.pauseSeveral(account, { ids }, REAL);
    await op.queues.resume(account, again ?? '');
    await op.queues.pause(account, again ?? '');
    await op.queues.delete(account, gone ?? '');
    const undone = await op.queues.resumeSeveral(account, { ids }, { ...REAL, pausedAt });
    expect(outcomes(undone)).toEqual(['changed_since', 'changed_since', 'changed', 'not_found']);
    expect(await pausedIds()).toEqual([kept, again]);
    const all = await op.queues.resumeSeveral(account, { ids }, { ...REAL, pausedAt: null });
    expect(outcomes(all)).toEqual(['changed', 'changed', 'unchanged', 'not_found']);
  });

  it('two pauses at the same time change each queue once', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await create()).id));
    const both = await Promise.all([
      op.queues.pauseSeveral(account, { ids }, REAL),
      op.queues.pauseSeveral(account, { ids: [...ids].reverse() }, REAL),
    ]);
    expect(both.flatMap(outcomes).filter((outcome) => outcome === 'changed')).toHaveLength(20);
  });

  it('counts the jobs that wait', async () => {
    const { id, name } = await create();
    for (let n = 0; n < 3; n++) await op.jobs.publish(account, name, { payload: '{}', delay: 60 });
    expect(await op.queues.waitingOf(account, [id])).toEqual({ count: 3, exact: true });
    expect(await op.queues.waitingOf(other, [id])).toEqual({ count: 0, exact: true });
  });
});

describe('ending the holds of several', () => {
  it.each([
    ['a breaker that is open', '1 hour', 'jobferry_now()', 1],
    ['a hold that no job has probed since its end', '-1 minute', 'null', 0],
  ])('a dry run counts %s, as the change does', async (_what, from, openedAt, heldQueues) => {
    const queue = await create();
    await op.db.query(
      `update queue set hold_until = jobferry_now() + $2::interval, breaker_opened_at = ${openedAt} where id = $1`,
      [queue.id, from],
    );
    const [receiver] = await op.receivers.list(account);
    expect(receiver?.queues.filter(({ isHeld }) => isHeld)).toHaveLength(heldQueues);
    for (const run of [DRY, REAL]) {
      expect(outcomes(await op.queues.endHoldSeveral(account, { ids: [queue.id] }, run))).toEqual(['changed']);
    }
    // The probe of a breaker is due now, and there is no more to do.
    for (const run of [DRY, REAL]) {
      expect(outcomes(await op.queues.endHoldSeveral(account, { ids: [queue.id] }, run))).toEqual(['unchanged']);
    }
    const [after] = await op.receivers.list(account);
    expect(after?.queues.filter(({ isHeld }) => isHeld)).toHaveLength(heldQueues);
  });

  it('leaves the others', async () => {
    const [held, free] = [await create(), await create()];
    await op.db.query(`update queue set hold_until = jobferry_now() + interval '1 hour' where id = $1`, [held.id]);
    const choice = { ids: [free.id, held.id, UNKNOWN_ID] };
    expect(outcomes(await op.queues.endHoldSeveral(account, choice, DRY))).toEqual([
      'unchanged',
      'changed',
      'not_found',
    ]);
    expect(outcomes(await op.queues.endHoldSeveral(account, choice, REAL))).toEqual([
      'unchanged',
      'changed',
      'not_found',
    ]);
    expect(outcomes(await op.queues.endHoldSeveral(account, choice, REAL))).toEqual([
      'unchanged',
      'unchanged',
      'not_found',
    ]);
  });
});

describe('limiting several', () => {
  it('changes what is given, and its undo puts back what still is so', async () => {
    const one = await create({ concurrency: 7, rateLimitMax: 100 });
    const two = await create({ concurrency: 2 });
    const three = await create({ concurrency: 9 });
    const ids = [one.id, two.id, three.id];
    const limits = { concurrency: 2, rateLimitMax: 10 };
    const done = await op.queues.limitSeveral(account, { ids }, limits, REAL);
    expect(done.queues).toMatchObject([
      { outcome: 'changed', limits: { concurrency: 7, rateLimitMax: 100 } },
      { outcome: 'changed', limits: { concurrency: 2, rateLimitMax: null } },
      { outcome: 'changed', limits: { concurrency: 9, rateLimitMax: null } },
    ]);
    expect(await op.queues.get(account, one.id)).toMatchObject({ ...limits, rateLimitWindow: 60 });
    expect((await op.auditOf(two.id)).at(-1)).toMatchObject({
      action: 'queue.update',
      before: { rateLimitMax: null },
      after: { rateLimitMax: 10 },
    });
    const again = await op.queues.limitSeveral(account, { ids }, limits, REAL);
    expect(outcomes(again)).toEqual(['unchanged', 'unchanged', 'unchanged']);

    await op.queues.update(account, three.id, { concurrency: 3 });
    await op.queues.update(account, one.id, { rateLimitWindow: 5 });
    const former = done.queues.flatMap(({ id, limits: before }) =>
      id === null || before === null ? [] : [{ id, ...before }],
    );
    const twice = op.queues.restoreLimits(account, [...former, ...former], limits);
    await expect(twice).rejects.toMatchObject({ fields: { former: ['must name each queue once'] } });
    const undone = await op.queues.restoreLimits(account, former, limits);
    expect(outcomes(undone)).toEqual(['changed', 'changed', 'changed_since']);
    expect(await op.queues.get(account, one.id)).toMatchObject({
      concurrency: 7,
      rateLimitMax: 100,
      rateLimitWindow: 5,
    });
    expect(await op.queues.get(account, three.id)).toMatchObject({ concurrency: 3, rateLimitMax: 10 });
  });

  it('is refused as a whole above the concurrency of the account', async () => {
    const ids = (await Promise.all([create(), create(), create()])).map(({ id }) => id);
    const limit = (concurrency: number, run = REAL) => op.queues.limitSeveral(account, { ids }, { concurrency }, run);
    const refusal = 'the concurrency of all your queues would total 1200, above the account limit of 1000';
    await expect(limit(400)).rejects.toMatchObject({ kind: 'forbidden', message: refusal });
    await expect(limit(400, DRY)).rejects.toThrow(refusal);
    expect((await op.queues.list(account)).map(({ concurrency }) => concurrency)).toEqual([5, 5, 5]);
    expect(outcomes(await limit(300))).toEqual(['changed', 'changed', 'changed']);
  });
});

describe('actions with several queues', () => {
  it('are refused once the audit log has 50 000 entries of a day, and a queue alone can still be changed', async () => {
    const queue = await create();
    const entries = `insert into audit_entry (id, account_id, at, actor_type, actor_label, action, target_type, target_id)
      select jobferry_id(at), $1, at, 'operator', 'operator', 'queue.pause', 'queue', 'x'
        from (select jobferry_now() - $3 * interval '1 hour' as at) moment cross join generate_series(1, $2::int)`;
    // In parts, because a statement has four seconds.
    const add = async (hoursAgo: number) => {
      for (let part = 0; part < 10; part += 1) await op.db.query(entries, [account.id, 5000, hoursAgo]);
    };
    const choice = { ids: [queue.id] };
    await add(25);
    expect(outcomes(await op.queues.pauseSeveral(account, choice, REAL))).toEqual(['changed']);
    await add(23);
    const said = /more than 50000 changes in the last 24 hours: change queues one by one/;
    await expect(op.queues.resumeSeveral(account, choice, { ...REAL, pausedAt: null })).rejects.toThrow(said);
    await expect(op.queues.limitSeveral(account, choice, { concurrency: 2 }, REAL)).rejects.toMatchObject({
      kind: 'conflict',
    });
    await expect(op.queues.resumeSeveral(account, choice, { ...DRY, pausedAt: null })).rejects.toThrow(said);
    await op.queues.resume(account, queue.id);
    expect(await pausedIds()).toEqual([]);
    const theirs = await create({}, other);
    expect(outcomes(await op.queues.pauseSeveral(other, { ids: [theirs.id] }, REAL))).toEqual(['changed']);
  });
});
