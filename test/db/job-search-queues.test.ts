import { beforeAll, describe, expect, it } from 'vitest';
import { countJobs, searchJobs } from '../../src/db/search/jobs.ts';
import type { JobFilter } from '../../src/domain/job-filter.ts';
import { openSearchFixture } from '../support/search-fixture.ts';

/** So many queues that a merge of all of them would take longer to plan than to run (src/db/search/merge.ts). */
const QUEUES = 230;
const JOBS = 6000;

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
/** All jobs in the order of ids; a third of them is dead. */
let jobs: { id: string; dead: boolean }[];

beforeAll(async () => {
  fixture = await openSearchFixture();
  const queues: string[] = [];
  while (queues.length < QUEUES) queues.push((await fixture.createQueue()).id);
  // Half of the jobs are of one queue, and every tenth queue has none.
  await fixture.db.query(
    `insert into job (id, account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, payload, scheduled_for,
                      deliver_by, created_at, completed_at, dead_reason)
     select jobferry_id(at), $1, ($2::text[])[case when n % 2 = 0 then 2 else 1 + n * 7919 % ${QUEUES} / 10 * 10 + n % 9 end],
            status, 3, 'fixed', 0, '{}', at, at + interval '1 day', at, case when status = 'completed' then at end,
            case when status = 'dead' then 'nacked' end
       from (select n, jobferry_now() - interval '1 min' - n * interval '100 ms' as at,
                    case when n % 3 = 0 then 'dead' else 'completed' end as status
               from generate_series(1, ${JOBS}) n) s`,
    [fixture.accountId, queues],
  );
  jobs = await fixture.db.query<{ id: string; dead: boolean }>(
    `select id, status = 'dead' as dead from job order by id`,
  );
  await fixture.db.query('vacuum analyze');
});

async function pages(filter: JobFilter, descending: boolean, size: number, count: number): Promise<string[][]> {
  const found: string[][] = [];
  for (let page = 0; page < count; page += 1) {
    const id = found.at(-1)?.at(-1);
    const slice = { limit: size, inverted: false, ...(id === undefined ? {} : { after: { id } }) };
    const order = { field: 'created_at', descending } as const;
    found.push((await searchJobs(fixture.db, fixture.select(filter), order, slice)).map((position) => position.id));
  }
  return found;
}

function expected(ids: readonly string[], descending: boolean, size: number, count: number): string[][] {
  const ordered = descending ? ids.toReversed() : ids;
  return Array.from({ length: count }, (_, page) => ordered.slice(page * size, (page + 1) * size));
}

describe('an account of many queues', () => {
  it.each([true, false])('is listed page by page in the order of ids (newest first: %s)', async (descending) => {
    const ids = jobs.map(({ id }) => id);
    expect(await pages({}, descending, 51, 20)).toEqual(expected(ids, descending, 51, 20));
  });

  it.each([true, false])('has its dead jobs listed in the order of ids (newest first: %s)', async (descending) => {
    const ids = jobs.filter(({ dead }) => dead).map(({ id }) => id);
    expect(await pages({ statuses: ['dead'] }, descending, 51, 10)).toEqual(expected(ids, descending, 51, 10));
  });

  it('is listed to its end', async () => {
    const last = jobs.slice(0, 30).map(({ id }) => id);
    const after = { id: jobs[30]?.id ?? '' };
    const order = { field: 'created_at', descending: true } as const;
    const found = await searchJobs(fixture.db, fixture.select({}), order, { limit: 51, inverted: false, after });
    expect(found.map(({ id }) => id)).toEqual(last.reverse());
  });

  it('is counted up to a maximum', async () => {
    expect(await countJobs(fixture.db, fixture.select({}), 100)).toBe(101);
    expect(await countJobs(fixture.db, fixture.select({}), JOBS)).toBe(JOBS);
  });
});
