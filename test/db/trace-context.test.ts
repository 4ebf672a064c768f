import { beforeAll, expect, it } from 'vitest';
import { type Fixture, openFixture } from '../support/database-fixture.ts';

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
