import { beforeAll, describe, expect, it } from 'vitest';
import { countJobs, newestJobs, searchJobs, timelineOfJobs } from '../../src/db/search/jobs.ts';
import type { JobFilter, JsonScalar, PayloadCondition, PayloadOperator } from '../../src/domain/job-filter.ts';
import type { Position } from '../../src/domain/page.ts';
import type { TestQueue } from '../support/database-fixture.ts';
import { NEWEST_FIRST, openSearchFixture } from '../support/search-fixture.ts';

/** More jobs than a search reads in one step, and more than it takes from an index. */
const JOBS = 48_000;

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
let busy: TestQueue;
let quiet: TestQueue;
let empty: TestQueue;

beforeAll(async () => {
  fixture = await openSearchFixture();
  busy = await fixture.createQueue();
  quiet = await fixture.createQueue();
  empty = await fixture.createQueue();
  // Every 1000th is of the quiet queue, the older half is indexed, and each is a second older than the next.
  await fixture.db.query(
    `insert into job (id, account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, payload, scheduled_for,
                      deliver_by, created_at, completed_at, dead_reason)
     select jobferry_id(at), $1, case when n % 1000 = 0 then $3 else $2 end, status, 3, 'fixed', 0,
            json_build_object('n', n, 'parity', n % 2, 'hundred', n % 100), at, at + interval '1 day', at,
            case when status = 'completed' then at end, case when status = 'dead' then 'nacked' end
       from (select n, jobferry_now() - interval '1 min' - (${JOBS} - n) * interval '1 s' as at,
                    case when n % 2 = 0 then 'completed' else 'dead' end as status
               from generate_series(1, ${JOBS}) n) s order by n`,
    [fixture.accountId, busy.id, quiet.id],
  );
  await fixture.db.query(`
    insert into job_search (job_id, queue_id, doc)
    select id, queue_id, jsonb_build_object(queue_id, payload::jsonb) from job order by id limit ${JOBS / 2}`);
  await fixture.db.query(
    `update follower set position = (select max(job_id) from job_search), updated_at = jobferry_now() where name = 'search'`,
  );
  await fixture.db.query('vacuum analyze');
});

function test(path: string, op: PayloadOperator, value: JsonScalar): PayloadCondition {
  return { kind: 'test', path, op, value };
}

/** The numbers of the jobs, in the order in which they were found. */
async function numbers(filter: JobFilter, descending = true, limit = 10_000): Promise<number[]> {
  const order = { field: 'created_at', descending } as const;
  return asNumbers(await searchJobs(fixture.db, fixture.select(filter), order, { limit, inverted: false }));
}

async function asNumbers(jobs: readonly Position[]): Promise<number[]> {
  const rows = await fixture.db.query<{ n: number }>(
    `select (j.payload::json ->> 'n')::integer as n from unnest($1::text[]) with ordinality as u(id, place)
       join job j on j.id = u.id order by u.place`,
    [jobs.map(({ id }) => id)],
  );
  return rows.map(({ n }) => n);
}

const range = (from: number, to: number, step = 1) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

const CASES: [string, () => JobFilter, number[]][] = [
  ['a value that one job has', () => ({ payload: test('n', 'EQ', 7) }), [7]],
  ['a value of the part that is not indexed', () => ({ payload: test('n', 'EQ', 47_999) }), [47_999]],
  ['a rare value', () => ({ payload: test('hundred', 'EQ', 11) }), range(11, JOBS, 100)],
  ['the oldest', () => ({ payload: test('n', 'LT', 4) }), [1, 2, 3]],
  [
    'a frequent value, and the oldest',
    () => ({ payload: { kind: 'and', of: [test('parity', 'EQ', 1), test('n', 'LT', 6)] } }),
    [1, 3, 5],
  ],
  ['a frequent state, and the oldest', () => ({ states: ['dead'], payload: test('n', 'LT', 6) }), [1, 3, 5]],
  ['a queue', () => ({ queueIds: [quiet.id] }), range(1000, JOBS, 1000)],
  ['all of a time', () => ({ created: { from: new Date(fixture.now - 60_000 - 5000 * 1000) } }), range(43_000, JOBS)],
  ['nothing', () => ({ payload: test('n', 'GT', JOBS) }), []],
];

describe(`of ${JOBS} jobs`, () => {
  it.each(CASES)('finds and counts %s', async (_name, filter, expected) => {
    expect(await numbers(filter(), false)).toEqual(expected);
    expect(await numbers(filter(), true)).toEqual(expected.toReversed());
    expect(await countJobs(fixture.db, fixture.select(filter()), 10_000)).toBe(expected.length);
  });

  it('finds the first page of all', async () => {
    expect(await numbers({}, true, 5)).toEqual([48_000, 47_999, 47_998, 47_997, 47_996]);
    expect(await numbers({ payload: test('parity', 'EQ', 0) }, true, 3)).toEqual([48_000, 47_998, 47_996]);
    expect(await numbers({ payload: test('parity', 'EQ', 0) }, false, 3)).toEqual([2, 4, 6]);
  });

  it('reads each job once in pages, across the border of the index', async () => {
    const pages: Position[] = [];
    const selection = fixture.select({ payload: test('hundred', 'EQ', 99) });
    for (;;) {
      const slice = { limit: 50, after: pages.at(-1), inverted: false };
      const page = await searchJobs(fixture.db, selection, NEWEST_FIRST, slice);
      pages.push(...page);
      if (page.length < 50) break;
    }
    expect(await asNumbers(pages)).toEqual(range(99, JOBS, 100).toReversed());
  });

  it('orders all by another time', async () => {
    const order = { field: 'completed_at', descending: false } as const;
    const page = await searchJobs(fixture.db, fixture.select({}), order, { limit: 3, inverted: false });
    expect(await asNumbers(page)).toEqual([2, 4, 6]);
  });

  it.each([[1], [100], [10_000]])('stops counting at one more than %i', async (max) => {
    expect(await countJobs(fixture.db, fixture.select({}), max)).toBe(max + 1);
    expect(await countJobs(fixture.db, fixture.select({ payload: test('parity', 'EQ', 1) }), max)).toBe(max + 1);
  });

  it('finds the newest of a busy queue and of one whose jobs are old', async () => {
    const payload = test('n', 'LT', 3001);
    const newest = await newestJobs(fixture.db, fixture.select({ payload }), 2);
    expect(await asNumbers(newest.get(busy.id) ?? [])).toEqual([2999, 2998]);
    expect(await asNumbers(newest.get(quiet.id) ?? [])).toEqual([3000, 2000]);
    expect(newest.has(empty.id)).toBe(false);
  });

  it('puts all into a timeline', async () => {
    const bucketMs = 3_600_000;
    const rows = await timelineOfJobs(fixture.db, fixture.select({}), {
      fromMs: fixture.now - 24 * bucketMs,
      toMs: fixture.now,
      bucketMs,
    });
    const sum = (state: string) => rows.reduce((total, row) => total + (row.state === state ? row.n : 0), 0);
    expect([sum('completed'), sum('dead')]).toEqual([JOBS / 2, JOBS / 2]);
    expect(rows.every(({ at }) => at % bucketMs === 0)).toBe(true);
    expect(new Set(rows.map(({ at }) => at)).size).toBeGreaterThan(12);
  });
});
