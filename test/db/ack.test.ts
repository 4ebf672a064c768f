import { beforeAll, describe, expect, it } from 'vitest';
import { type AckedJob, ackJobs } from '../../src/db/delivery/ack.ts';
import { type Settlement, settle } from '../../src/db/delivery/settle.ts';
import { findJobs } from '../../src/db/delivery/stored-job.ts';
import { jobDocuments } from '../../src/db/jobs/documents.ts';
import type { JobEvent } from '../../src/domain/transition.ts';
import {
  backpressure,
  DELIVERED,
  FAILED,
  type Fixture,
  INTERRUPTED,
  openFixture,
  PERIODS,
  settlementOf,
  takeOverClock,
} from '../support/database-fixture.ts';

/** The statement of ordinary acks leaves behind what the full way does: read, decide, settle, read the document. */

let fixture: Fixture;
let setClock: (ms: number) => Promise<void>;
let now = Date.UTC(2026, 10, 25, 12);
beforeAll(async () => {
  fixture = await openFixture();
  setClock = await takeOverClock(fixture.db, now);
});

const pass = async (ms: number) => {
  now += ms;
  await setClock(now);
};

interface Case {
  payload?: string;
  key?: string;
  /** Deliveries before the last one. */
  events?: JobEvent[];
}

/** A job that awaits the report of its delivery. */
async function awaiting({ payload = '{"a":1}', key, events = [] }: Case): Promise<{ id: string; queueId: string }> {
  const queue = await fixture.createQueue({ mode: 'ack' });
  const [id = ''] = await fixture.publishJobs(queue, 1, { payload, key: key ?? null });
  for (const event of [...events, DELIVERED]) {
    await pass(61_000);
    const [job] = (await fixture.claim(queue)).jobs;
    if (job === undefined) throw new Error('nothing to claim');
    await pass(7);
    const answer = { statusCode: 202, durationMs: 7, body: 'ok' };
    const settlement: Settlement = { ...settlementOf(job, event, now), answer };
    expect((await settle(fixture.db, [settlement])).size).toBe(1);
  }
  await pass(1234);
  return { id, queueId: queue.id };
}

/** The stored rows of the job and its queue, without ids. */
async function stored({ id, queueId }: { id: string; queueId: string }): Promise<unknown> {
  const row = await fixture.db.one<{ stored: unknown }>(
    `select json_build_object(
       'job', (select to_jsonb(j) - array['id', 'queue_id', 'claim_token'] from job j where id = $1),
       'attempts', (select json_agg(to_jsonb(a) - array['job_id', 'queue_id'] order by ordinal) from attempt a where job_id = $1),
       'queue', (select to_jsonb(q) - array['id', 'name'] from queue q where id = $2),
       'wakes', (select json_agg(replace(key, $2, 'q') order by key) from graphile_worker.jobs where strpos(key, $2) > 0)) as stored`,
    [id, queueId],
  );
  return row?.stored;
}

async function fully(id: string): Promise<unknown> {
  const job = (await findJobs(fixture.db, [id], PERIODS)).get(id);
  if (job === undefined) throw new Error('no job');
  await settle(fixture.db, [settlementOf(job, { type: 'acked' }, now)]);
  return documentOf(id);
}

async function documentOf(id: string): Promise<unknown> {
  const found = (await jobDocuments(fixture.db, [id], PERIODS, 1e6)).get(id);
  return found !== undefined && 'document' in found ? found.document : null;
}

const ask = (...acks: { id: string; attempt?: number | undefined; accountId?: string }[]) =>
  ackJobs(
    fixture.db,
    acks.map(({ id, attempt, accountId = fixture.accountId }) => ({ id, attempt, accountId })),
  );

const CASES: Record<string, Case> = {
  'at once': {},
  'with a key': { key: 'k' },
  'after a failure': { events: [FAILED] },
  'after a failure and two holds': { events: [FAILED, backpressure(100), backpressure(1)] },
  'after an interruption': { events: [INTERRUPTED] },
  'with a large payload': { payload: JSON.stringify({ text: 'x'.repeat(6000) }) },
  'with quotes and lines in its payload': { payload: '{ "a": "\\"\\n\\u00e9 é",\n "b": 1.0 }' },
};

describe('an ack in one statement', () => {
  it.each(Object.entries(CASES))('writes what the full way writes: %s', async (_name, given) => {
    const from = now;
    const one = await awaiting(given);
    const document = await fully(one.id);
    const expected = await stored(one);
    await pass(from - now);
    const other = await awaiting(given);
    const [answer] = (await ask(other)) as [AckedJob];
    expect(await stored(other)).toEqual(expected);
    expect(answer.queueId).toBe(other.queueId);
    const whole = await documentOf(other.id);
    expect({ ...(whole as object), id: '', queue: '' }).toEqual({ ...(document as object), id: '', queue: '' });
    const isApart = given.payload !== undefined && given.payload.length > 5000;
    expect(answer.document).toEqual(
      isApart || (given.events ?? []).some((event) => event !== INTERRUPTED) ? null : whole,
    );
  });

  it('leaves the probe to the full way, which resumes its queue', async () => {
    const job = await awaiting({ events: [] });
    await fixture.db.query(
      `update queue set probe_job_id = $1, hold_until = jobferry_now(), hold_since = jobferry_now() where id = $2`,
      [job.id, job.queueId],
    );
    const before = await stored(job);
    expect(await ask({ id: job.id })).toEqual(['unusual']);
    expect(await stored(job)).toEqual(before);
  });

  it('changes nothing for another attempt or account, or in another status', async () => {
    const job = await awaiting({ events: [FAILED] });
    const before = await stored(job);
    const another = { id: job.id, accountId: '0'.repeat(24) };
    for (const ack of [{ ...job, attempt: 1 }, { ...job, attempt: 3 }, { ...job, attempt: 1e300 }, another]) {
      expect(await ask(ack)).toEqual(['unusual']);
    }
    expect(await stored(job)).toEqual(before);
    expect(await ask({ ...job, attempt: 2 })).toMatchObject([{ document: null }]);
    expect(await ask({ ...job, attempt: 2 }, { id: 'f'.repeat(24) })).toEqual(['unusual', 'unusual']);
  });

  it('is told to come again while its delivery has not been settled', async () => {
    for (const [mode, result] of [
      ['ack', 'coming'],
      ['standard', 'unusual'],
    ] as const) {
      const queue = await fixture.createQueue({ mode });
      const [id = ''] = await fixture.publishJobs(queue, 1);
      expect(await ask({ id })).toEqual(['unusual']);
      await fixture.claim(queue);
      expect(await ask({ id })).toEqual([result]);
      expect(await ask({ id, attempt: 2 })).toEqual(['unusual']);
    }
  });

  it('lets the first of several acks in a batch win', async () => {
    const [one, two] = [await awaiting({}), await awaiting({})];
    const results = await ask(one, two, one);
    expect(results).toMatchObject([{ queueId: one.queueId }, { queueId: two.queueId }, 'unusual']);
  });

  it('is won by one of two statements that race', async () => {
    const jobs = [await awaiting({}), await awaiting({}), await awaiting({})];
    const results = await Promise.all([ask(...jobs), ask(...jobs.toReversed()), ask(...jobs)]);
    const won = results.flat().filter((result) => typeof result !== 'string');
    expect(won.map(({ queueId }) => queueId).sort()).toEqual(jobs.map(({ queueId }) => queueId).sort());
  });
});
