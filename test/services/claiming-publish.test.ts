import { expect, it } from 'vitest';
import type { NewClaim } from '../../src/db/delivery/claim-new.ts';
import { publishAndClaim } from '../../src/db/delivery/publish.ts';
import type { Context, NewJobClaims } from '../../src/services/context.ts';
import { ClaimingPublish } from '../../src/services/jobs/claiming-publish.ts';
import { LEASE_MS, openFixture, PERIODS } from '../support/database-fixture.ts';

it('says which queues have no free slot after a claim', async () => {
  const { db, accountId, createQueue } = await openFixture();
  const [narrow, wide] = [await createQueue({ concurrency: 1 }), await createQueue({ concurrency: 2 })];
  const items = [narrow, wide].map(({ name }) => ({
    accountId,
    queue: name,
    payload: '{}',
    key: null,
    delayMs: 0,
    limit: null,
    claimable: true,
  }));
  const queues = [narrow, wide].map(({ id }) => ({ queueId: id, jobs: 1, since: null }));
  const { claim } = await publishAndClaim(db, items, PERIODS, { workerId: 1, leaseMs: LEASE_MS, queues });
  expect([claim?.rows.length, claim?.full]).toEqual([2, [narrow.id]]);
});

it('claims nothing if the worker may not claim any more when a connection is free', async () => {
  const { db, accountId, createQueue } = await openFixture();
  db.pool.options.max = 1;
  const queue = await createQueue();
  let mayClaim = true;
  const ended: (number | null)[] = [];
  const newJobs: NewJobClaims = {
    mayClaim: () => mayClaim,
    reserve(asked) {
      const queues = asked.map((one) => ({ ...one, since: null }));
      return queues.length === 0 ? null : { workerId: 1, leaseMs: LEASE_MS, queues };
    },
    end: (_reservation, claim: NewClaim | null) => void ended.push(claim?.rows.length ?? null),
  };
  const publishing = new ClaimingPublish({ db, periods: PERIODS, newJobs } as unknown as Context);
  const publish = () =>
    publishing.publish([{ accountId, queue: queue.name, payload: '{}', key: null, delayMs: 0, limit: null }]);
  const statuses = async () =>
    (await db.query<{ status: string }>('select status from job order by id')).map((job) => job.status);

  // The first publish tells the process the id of the queue.
  await publish();
  await db.query(`update job set status = 'completed', completed_at = jobferry_now()`);
  await publish();
  expect([await statuses(), ended]).toEqual([['completed', 'processing'], [1]]);

  const busy = db.query('select pg_sleep(0.3)');
  const waiting = publish();
  mayClaim = false;
  await busy;
  expect(await waiting).toMatchObject([{ outcome: 'created', isClaimed: false }]);
  expect([await statuses(), ended]).toEqual([
    ['completed', 'processing', 'pending'],
    [1, null],
  ]);
});
