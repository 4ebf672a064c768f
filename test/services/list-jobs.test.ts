import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { JobStatus } from '../../src/domain/job.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import type { ListJobsInput } from '../../src/services/jobs/list.ts';
import {
  type Fixture,
  LIFETIME_MS,
  openFixture,
  PERIODS,
  RETENTION_MS,
  takeOverClock,
} from '../support/database-fixture.ts';
import { openServices } from '../support/services.ts';
import { occupyTurns } from '../support/turns.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 21, 12);

interface Made {
  key: string;
  status: JobStatus;
  createdAt: number;
  /** When it was completed or died. */
  endedAt: number | null;
}

let fixture: Fixture;
let op: ReturnType<typeof openServices>;

beforeAll(async () => {
  fixture = await openFixture();
  await takeOverClock(fixture.db, NOW);
  op = openServices(fixture.db.pool.options.connectionString ?? '', PERIODS);
});

/** Docs/decisions/0018. */
function isKept({ createdAt, endedAt }: Made): boolean {
  if (createdAt > NOW - RETENTION_MS || endedAt === null) return true;
  return endedAt >= Math.max(createdAt + RETENTION_MS, NOW - LIFETIME_MS);
}

/** Jobs as in a queue that was paused for days, before any sweep. Oldest first. */
function madeJobs(young: number): Made[] {
  const jobs: Made[] = [];
  for (let n = 0; n < 60; n += 1) {
    const status = (['pending', 'completed', 'dead'] as const)[n % 3] ?? 'pending';
    const createdAt = NOW - RETENTION_MS - (60 - n) * HOUR;
    // Soon, or after its retention: some less than a lifetime ago, others longer.
    const endedAt = n % 4 === 0 ? createdAt + HOUR : createdAt + RETENTION_MS + 5 * HOUR;
    jobs.push({
      key: n % 10 === 3 ? `old-ÄПΣ-${n}` : `old-${n}`,
      status,
      createdAt,
      endedAt: status === 'pending' ? null : Math.min(endedAt, NOW),
    });
  }
  for (let n = 0; n < young; n += 1) {
    const createdAt = NOW - RETENTION_MS + HOUR + Math.floor((n * 70 * HOUR) / young);
    const status = n % 2 === 0 ? 'pending' : 'completed';
    jobs.push({
      key: n % 10 === 3 ? `young-ÄПΣ-${n}` : `young-${n}`,
      status,
      createdAt,
      endedAt: status === 'pending' ? null : createdAt,
    });
  }
  return jobs;
}

async function insert(queueId: string, jobs: Made[]): Promise<void> {
  await fixture.db.query(
    `insert into job (id, account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, idempotency_key, payload,
                      scheduled_for, deliver_by, created_at, completed_at, dead_at, dead_reason)
     select jobferry_id(at), $1, $2, status, 3, 'fixed', 0, key, '{}', at, at + interval '1 day', at,
            case when status = 'completed' then ended end, case when status = 'dead' then ended end,
            case when status = 'dead' then 'nacked' end
       from (select key, status, to_timestamp(created / 1000)::timestamptz(3) as at,
                    to_timestamp(ended / 1000)::timestamptz(3) as ended
               from unnest($3::text[], $4::text[], $5::float8[], $6::float8[]) as made(key, status, created, ended)) made`,
    [
      ...[fixture.accountId, queueId, jobs.map(({ key }) => key), jobs.map(({ status }) => status)],
      ...[jobs.map(({ createdAt }) => createdAt), jobs.map(({ endedAt }) => endedAt)],
    ],
  );
}

// So many young ones are each read, or found by the indexes.
describe.each([[40], [20_010]])('the list of a paused queue with %i young jobs', (young) => {
  let queueId: string;
  const all = madeJobs(young);
  const kept = all.filter(isKept).reverse();
  const oldestKept = kept.at(-1)?.createdAt;

  beforeAll(async () => {
    queueId = (await fixture.createQueue()).id;
    await insert(queueId, all);
    await fixture.db.query(`update queue set paused_at = $2, paused_by = 'test' where id = $1`, [
      queueId,
      new Date(NOW - 6 * 24 * HOUR),
    ]);
    await fixture.db.query('analyze job');
  });

  async function list(input: Partial<ListJobsInput>, plan = 'pro') {
    const account: Account = { ...(await op.firstAccount()), plan };
    const page = await op.jobs.list(account, queueId, { page: 1, limit: 10, ...input });
    return { keys: page.jobs.map(({ idempotencyKey }) => idempotencyKey), total: page.total, from: page.appliedFrom };
  }

  it('has something to show, and something not to show', () => {
    const old = all.filter(({ key }) => key.startsWith('old'));
    for (const status of ['completed', 'dead']) {
      const [shown, hidden] = [old.filter(isKept), old.filter((job) => !isKept(job))].map(
        (jobs) => jobs.filter((job) => job.status === status).length,
      );
      expect(Math.min(shown ?? 0, hidden ?? 0)).toBeGreaterThan(0);
    }
  });

  const hasLetters = (job: Made) => job.key.includes('ÄПΣ-3');
  const OF_KEPT = (job: Made) => job.key.startsWith('old');
  const FILTERS: [string, Partial<ListJobsInput>, (job: Made) => boolean][] = [
    ['all', {}, () => true],
    ['pending', { status: 'pending' }, ({ status }) => status === 'pending'],
    ['completed', { status: 'completed' }, ({ status }) => status === 'completed'],
    ['dead', { status: 'dead' }, ({ status }) => status === 'dead'],
    ['processing', { status: 'processing' }, () => false],
    ['a key of old ones', { idempotencyKey: 'OLD-' }, OF_KEPT],
    ['a key with letters beyond ASCII', { idempotencyKey: 'ÄПΣ-3' }, hasLetters],
    ['a key with letters beyond ASCII in another case', { idempotencyKey: 'äПς-3' }, hasLetters],
    ['a part of such a key', { idempotencyKey: 'пσ-3' }, hasLetters],
    ['a key of both', { idempotencyKey: '-1' }, ({ key }) => key.includes('-1')],
    [
      'both filters',
      { idempotencyKey: '-2', status: 'pending' },
      (job) => job.key.includes('-2') && job.status === 'pending',
    ],
    [
      'up to before retention',
      { to: new Date(NOW - RETENTION_MS - 30 * HOUR) },
      (job) => job.createdAt <= NOW - RETENTION_MS - 30 * HOUR,
    ],
  ];

  it.each(FILTERS)('shows %s, the young ones first, whatever the page', async (_name, input, matches) => {
    const expected = kept.filter(matches).map(({ key }) => key);
    const ofYoung = expected.filter((key) => key.startsWith('young')).length;
    for (const limit of [10, 7]) {
      // Around the last young job, the last page, and one after that.
      const border = Math.ceil(ofYoung / limit);
      const last = Math.ceil(expected.length / limit);
      for (const page of new Set([1, border - 1, border, border + 1, last, 10_000])) {
        if (page < 1) continue;
        const { keys, total, from } = await list({ ...input, page, limit });
        expect({ page, limit, keys, total }).toEqual({
          page,
          limit,
          total: expected.length,
          keys: expected.slice((page - 1) * limit, page * limit),
        });
        expect(from.getTime()).toBe(oldestKept);
      }
    }
  });

  it('begins where the request names', async () => {
    const from = new Date(NOW - RETENTION_MS - 20 * HOUR);
    const expected = kept.filter(({ createdAt }) => createdAt >= from.getTime());
    const { keys, total, from: applied } = await list({ from, page: Math.ceil(expected.length / 10) });
    expect({ total, applied }).toEqual({ total: expected.length, applied: from });
    expect(keys.at(-1)).toBe(expected.at(-1)?.key);
  });

  it('shows a plan with a shorter window nothing that is older', async () => {
    const from = NOW - (DEFAULT_PLANS.free?.window ?? 0) * 1000;
    const { total, from: applied } = await list({}, 'free');
    expect({ total, applied: applied.getTime() }).toEqual({
      total: kept.filter(({ createdAt }) => createdAt >= from).length,
      applied: from,
    });
  });
});

it.each(['jobs', 'deadLetters'] as const)('a list of %s reads nothing once its client has gone', async (list) => {
  const { id } = await fixture.createQueue();
  const account = await op.firstAccount();
  const letGo = occupyTurns(op.db, account);
  let isGone = false;
  const asked = op[list].list(account, id, { page: 1, limit: 10 }, () => isGone);
  isGone = true;
  letGo();
  await expect(asked).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringContaining('does not wait') });
  expect(await op[list].list(account, id, { page: 1, limit: 10 }, () => false)).toMatchObject({ total: 0 });
});
