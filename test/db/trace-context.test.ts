import { beforeAll, expect, it } from 'vitest';
import { type Fixture, LEASE_MS, openFixture } from '../support/database-fixture.ts';

/** Where the trace of a job began, in its row. */

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01 rojo=1`;

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});

it('is stored by a publish, and returned by a claim', async () => {
  const queue = await fixture.createQueue();
  await fixture.publishAll(queue, [{ trace: TRACE }, { trace: null }, {}]);
  const { jobs } = await fixture.claim(queue);
  expect(jobs.map(({ trace }) => trace)).toEqual([TRACE, null, null]);
});

it('is not in a claim of the last release, which gets everything else', async () => {
  const queue = await fixture.createQueue();
  const [id] = await fixture.publishJobs(queue, 1, { trace: TRACE });
  const [row] = await fixture.db.query<Record<string, unknown>>(
    `select * from jobferry_claim($1, '{1}', '{1000}', 1, $2 * interval '1 ms')`,
    [[queue.id], LEASE_MS],
  );
  expect(row).toMatchObject({ id, queue_id: queue.id, queue_name: queue.name, payload: '{}', attempts: 1 });
  expect(Object.keys(row ?? {}).at(-1)).toBe('next_signing_secret');
});
