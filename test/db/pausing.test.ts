import { beforeAll, describe, expect, it } from 'vitest';
import { pauseQueue } from '../../src/db/queues/operations.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import { LOCK_WAITERS } from '../support/database.ts';
import { type Fixture, openFixture } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});

describe('the time of a pause', () => {
  it('is not before the claims that it waited for', async () => {
    const queue = await fixture.createQueue();
    const claim = await fixture.db.pool.connect();
    await claim.query('begin');
    await claim.query('select from queue where id = $1 for no key update', [queue.id]);
    const pausing = pauseQueue(fixture.db, { accountId: fixture.accountId, actor: OPERATOR }, queue.id);
    await waitFor(async () => (await fixture.db.query(LOCK_WAITERS)).length === 1);
    const { rows } = await claim.query<{ claimed_at: Date }>('select jobferry_now() as claimed_at');
    await claim.query('rollback');
    claim.release();
    expect(await pausing).toBe(true);
    const paused = await fixture.db.one<{ paused_at: Date }>('select paused_at from queue where id = $1', [queue.id]);
    expect(paused?.paused_at.getTime()).toBeGreaterThanOrEqual(rows[0]?.claimed_at.getTime() ?? Number.NaN);
  });
});
