import { beforeAll, describe, expect, it } from 'vitest';
import { replay } from '../../src/db/dead-letters.ts';
import { insertDeadLetters } from '../support/bulk.ts';
import { type Fixture, LIFETIME_MS, openFixture, RETENTION_MS, type TestQueue } from '../support/database-fixture.ts';

let fixture: Fixture;
let queue: TestQueue;

beforeAll(async () => {
  fixture = await openFixture();
  queue = await fixture.createQueue();
});

const periods = { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS };

async function replayed(ids: string[] | null, max: number) {
  const answer = await replay(fixture.db, { queueId: queue.id, ids, max, limit: null }, periods);
  if (answer.outcome !== 'done') throw new Error(answer.outcome);
  return answer;
}

describe('a replay', () => {
  it('replays as many large payloads in a call as can be written in time, and returns which are left', async () => {
    const payload = `{"a":"${'x'.repeat(1_048_000)}"}`;
    const ids = await insertDeadLetters(fixture.db, queue.id, 40, { payload });
    const first = await replayed(ids, 0);
    const second = await replayed(ids, 0);
    expect(first.jobs.map(({ id }) => id)).toEqual(ids.slice(0, 33));
    expect(first.skipped).toEqual(ids.slice(33).map((id) => ({ id, reason: 'postponed' })));
    expect(second.jobs.map(({ id }) => id)).toEqual(ids.slice(33));
    expect(second.skipped).toEqual(ids.slice(0, 33).map((id) => ({ id, reason: 'already_replayed' })));
  });
});
