import { beforeEach, describe, expect, it } from 'vitest';
import { databaseTime } from '../../src/db/connection/clock.ts';
import { sweepById, sweepsBelow } from '../../src/db/retention/sweep.ts';
import { indexPayloads, indexWaiting } from '../../src/db/search/index-payloads.ts';
import { SearchIndexing } from '../../src/worker/maintenance/search-indexing.ts';
import { PERIODS, RETENTION_MS, type TestQueue } from '../support/database-fixture.ts';
import { openSearchFixture } from '../support/search-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
let queue: TestQueue;

beforeEach(async () => {
  fixture = await openSearchFixture();
  queue = await fixture.createQueue();
});

async function documents(): Promise<Map<string, unknown>> {
  const rows = await fixture.db.query<{ job_id: string; doc: unknown }>('select job_id, doc from job_search');
  return new Map(rows.map((row) => [row.job_id, row.doc]));
}

/** A queue of another account. */
async function otherAccount(): Promise<TestQueue> {
  const another = await fixture.createQueue();
  await fixture.db.query(
    `with other as (insert into account (name, plan) values ('other', 'pro') returning id)
     update queue set account_id = other.id from other where queue.id = $1`,
    [another.id],
  );
  return another;
}

describe('indexing payloads', () => {
  it('goes through all jobs in batches, and each once', async () => {
    const ids = await fixture.insertPayloads(
      queue,
      Array.from({ length: 25 }, (_, n) => `{"n":${n}}`),
    );
    expect(await indexPayloads(fixture.db, 10)).toBe(10);
    expect(await indexPayloads(fixture.db, 10)).toBe(10);
    expect(await indexPayloads(fixture.db, 10)).toBe(5);
    expect(await indexPayloads(fixture.db, 10)).toBe(0);
    expect(await documents()).toEqual(new Map(ids.map((id, n) => [id, { [queue.id]: { n } }])));
  });

  it('leaves what is younger than five seconds, which may still be on its way', async () => {
    await fixture.insertJob({ queue, ageMs: 5001 });
    const young = await fixture.insertJob({ queue, ageMs: 4000 });
    expect(await fixture.indexAll()).toBe(1);
    await fixture.setClock(fixture.now + 2000);
    expect(await fixture.indexAll()).toBe(1);
    expect((await documents()).has(young)).toBe(true);
  });

  it('goes back with the clock, so that it misses no job, and searches find each once', async () => {
    const insert = async (at: number) =>
      fixture.insertJob({ queue, payload: '{"is":"here"}', ageMs: fixture.now - at });
    const fast = fixture.now + 60_000;
    await fixture.setClock(fast);
    const all = [await insert(fast - 6000), await insert(fast - 5500)];
    expect(await fixture.indexAll()).toBe(2);
    await fixture.setClock(fixture.now);
    all.push(await insert(fixture.now - 7000), await insert(fixture.now));
    await fixture.indexAll();
    const filter = { payload: { kind: 'test', path: 'is', op: 'EQ', value: 'here' } } as const;
    expect([...(await fixture.findEveryWay(filter))].sort()).toEqual([...all].sort());
    await fixture.setClock(fixture.now + 30_000);
    all.push(await insert(fixture.now + 20_000));
    await fixture.indexAll();
    expect([...(await fixture.findEveryWay(filter))].sort()).toEqual([...all].sort());
    await fixture.setClock(fast + 1);
    await fixture.indexAll();
    expect([...(await documents()).keys()].sort()).toEqual([...all].sort());
  });

  it('waits for transactions that began before a job and may have written one too', async () => {
    await fixture.insertJob({ queue, ageMs: 200 });
    const index = async () =>
      (await fixture.db.one<{ n: number }>(`select jobferry_index_payloads(10, '0', '100 ms') as n`))?.n;
    const other = await fixture.db.pool.connect();
    try {
      await other.query('begin; create temporary table something ()');
      await waitFor(async () => {
        const { rows } = await other.query(`select clock_timestamp() - now() > interval '300 ms' as is_old`);
        return rows[0].is_old;
      });
      expect(await index()).toBe(0);
      await other.query('rollback');
    } finally {
      other.release();
    }
    expect(await index()).toBe(1);
  });

  it('is done by one process at a time', async () => {
    await fixture.insertPayloads(queue, ['{}', '{}']);
    const other = await fixture.db.pool.connect();
    try {
      await other.query('begin');
      expect((await other.query('select jobferry_index_payloads(1)')).rows).toEqual([{ jobferry_index_payloads: 1 }]);
      expect(await indexPayloads(fixture.db, 10)).toBe(0);
      await other.query('commit');
    } finally {
      other.release();
    }
    expect(await indexPayloads(fixture.db, 10)).toBe(1);
  });

  it('is not done again within a pause, by this process or another', async () => {
    await fixture.insertPayloads(queue, ['{}', '{}']);
    expect(await indexPayloads(fixture.db, 1)).toBe(1);
    expect(await indexPayloads(fixture.db, 1, 600_000)).toBe(0);
    expect(await indexPayloads(fixture.db, 1, 0)).toBe(1);
  });

  it('pauses as well when the clock was set back since, but not longer than the pause', async () => {
    await fixture.insertPayloads(queue, ['{}', '{}', '{}']);
    expect(await indexPayloads(fixture.db, 1)).toBe(1);
    const setBack = (by: string) =>
      fixture.db.query(`update follower set updated_at = clock_timestamp() + $1::interval where name = 'search'`, [by]);
    await setBack('10 ms');
    expect(await indexPayloads(fixture.db, 1, 600_000)).toBe(0);
    await setBack('1 hour');
    expect(await indexPayloads(fixture.db, 1, 600_000)).toBe(1);
  });

  it('takes fewer jobs at a time when they are large, and at least one', async () => {
    const large = `{"fill":"${'x'.repeat(65_000)}"}`;
    await fixture.insertPayloads(
      queue,
      Array.from({ length: 40 }, () => large),
    );
    expect(await indexPayloads(fixture.db, 500)).toBe(16);
    expect(await fixture.indexAll()).toBe(24);
  });

  it('is not stopped by a job that is indexed already or swept meanwhile', async () => {
    const [first] = await fixture.insertPayloads(queue, ['{"n":1}', '{"n":2}']);
    await fixture.db.query('insert into job_search (job_id, queue_id) values ($1, $2)', [first, queue.id]);
    expect(await fixture.indexAll()).toBe(2);
  });

  it('never fails, whatever the payload', async () => {
    const hostile = [
      '{"a":"\\u0000"}',
      '{"a":"\\ud800"}',
      '{"a":"\\udc00\\ud800"}',
      '{"a":1e999999999999}',
      `{"a":${'9'.repeat(60_000)}}`,
      `{"a":0.${'9'.repeat(60_000)}}`,
      `{"a":${'[1e131071,'.repeat(99)}1${']'.repeat(99)}}`,
      `{"${'k'.repeat(60_000)}":1}`,
      `{"a":"${'\\u0000'.repeat(10_000)}"}`,
      `{"a":"${'\\\\'.repeat(30_000)}"}`,
      `{"a":"${'\\ud800'.repeat(10_000)}"}`,
      `{"a":[${Array.from({ length: 9000 }, (_, n) => n).join(',')}]}`,
      `{"a":"${'x'.repeat(900_000)}"}`,
      `${' '.repeat(60_000)}{}`,
    ];
    const ids = await fixture.insertPayloads(queue, hostile);
    expect(await fixture.indexAll()).toBe(hostile.length);
    const indexed = await documents();
    const unsearchable = ids.filter((id) => indexed.get(id) === null);
    expect(unsearchable).toEqual([ids[5], ids[12]]);
    const [row] = await fixture.db.query<{ same: boolean }>(
      'select bool_and(j.payload = u.payload) as same from job j join unnest($1::text[], $2::text[]) u(id, payload) on u.id = j.id',
      [ids, hostile],
    );
    expect(row?.same).toBe(true);
  });

  it('does not keep an account waiting for what another one has published before', async () => {
    const own = Array.from({ length: 35 }, (_, n) => `{"flood":${n}}`);
    const flood = await fixture.insertPayloads(queue, own);
    const neighbour = await otherAccount();
    const [quiet = ''] = await fixture.insertPayloads(neighbour, ['{"quiet":1}']);
    expect(await indexPayloads(fixture.db, 10)).toBe(36);
    const indexed = await documents();
    expect(indexed.get(quiet)).toEqual({ [neighbour.id]: { quiet: 1 } });
    expect(flood.filter((id) => indexed.get(id) !== null)).toEqual(flood.slice(0, 10));
    // Nothing of it is missing from searches meanwhile.
    for (const n of [5, 20, 34]) {
      const payload = { kind: 'test', path: 'flood', op: 'EQ', value: n } as const;
      expect(await fixture.find({ payload })).toEqual([flood[n]]);
    }
    expect((await fixture.find({ payload: { kind: 'test', path: 'flood', op: 'GT', value: 8 } })).length).toBe(26);
    expect(await fixture.indexAll()).toBe(25);
    expect([...(await documents()).values()].every((doc) => doc !== null)).toBe(true);
  });

  it('lets accounts take turns with what was left behind', async () => {
    const neighbour = await otherAccount();
    const [first, second] = queue.id < neighbour.id ? [queue, neighbour] : [neighbour, queue];
    for (const one of [first, second]) await fixture.insertPayloads(one, ['{"n":1}', '{"n":2}', '{"n":3}']);
    await indexPayloads(fixture.db, 10, 0, false);
    const turn = { max: 2, bytes: 1_000_000, pauseMs: 0, giveUp: false };
    const waiting = async () =>
      fixture.db.query<{ n: number }>(
        'select count(*)::int as n from job_search where waiting_account is not null group by queue_id order by n',
      );
    expect(await indexWaiting(fixture.db, turn)).toBe(2);
    expect(await indexWaiting(fixture.db, turn)).toBe(2);
    expect(await waiting()).toEqual([{ n: 1 }, { n: 1 }]);
    expect([await indexWaiting(fixture.db, turn), await indexWaiting(fixture.db, turn)]).toEqual([1, 1]);
    expect(await indexWaiting(fixture.db, turn)).toBe(0);
  });

  it.each(['57014', '22000'])('is not stopped by a payload that cannot be indexed (%s)', async (sqlState) => {
    await fixture.db.query(`
      alter function jobferry_searchable rename to searchable_without_poison;
      create function jobferry_searchable(p_payload text) returns jsonb language plpgsql immutable strict as $$
      begin
        if p_payload like '%poison%' then raise exception 'poison' using errcode = '${sqlState}'; end if;
        return searchable_without_poison(p_payload);
      end $$`);
    const neighbour = await otherAccount();
    const own = await fixture.insertPayloads(queue, ['{"n":1}', '{"poison":1}', '{"n":2}', '{"poison":2}', '{"n":3}']);
    const [theirs = ''] = await fixture.insertPayloads(neighbour, ['{"n":4}']);
    await new SearchIndexing(fixture.db, { warn: () => undefined }, () => false).run();
    const indexed = await documents();
    expect(indexed.get(theirs)).toEqual({ [neighbour.id]: { n: 4 } });
    expect(own.map((id) => indexed.get(id) !== null)).toEqual([true, false, true, false, true]);
    expect(await fixture.db.query('select from job_search where waiting_account is not null')).toEqual([]);
  });

  it('is undone by the sweep', async () => {
    await fixture.insertJob({ queue, ageMs: RETENTION_MS + 60_000, status: 'completed' });
    const kept = await fixture.insertJob({ queue });
    expect(await fixture.indexAll()).toBe(2);
    const now = await databaseTime(fixture.db);
    const range = { after: '', below: sweepsBelow(now, PERIODS) };
    expect(await sweepById(fixture.db, 'jobs', range, now, PERIODS)).toMatchObject({ swept: 1 });
    expect([...(await documents()).keys()]).toEqual([kept]);
    // One that was written while its job was removed.
    await fixture.db.query(
      `insert into job_search (job_id, queue_id) values (jobferry_id(jobferry_now() - $1 * interval '1 ms'), $2)`,
      [RETENTION_MS + 60_000, queue.id],
    );
    expect(await sweepById(fixture.db, 'documents', range, now, PERIODS)).toMatchObject({ looked: 1, swept: 1 });
    expect([...(await documents()).keys()]).toEqual([kept]);
  });
});
