import { expect, it } from 'vitest';
import type { Database, Statement } from '../../src/db/connection/database.ts';
import { NO_CHANGES } from '../../src/live/live.ts';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { emptyDeletedQueue, expireDeadlines } from '../../src/worker/maintenance/recover.ts';
import { countedSince } from '../support/counted.ts';
import { openFixture } from '../support/database-fixture.ts';

it('a job that cannot be settled stops no other of its batch', async () => {
  const fixture = await openFixture();
  const queue = await fixture.createQueue();
  const ids = await fixture.publishJobs(queue, 5);
  const poisoned = ids[2] ?? '';
  const warnings: object[] = [];
  const db = Object.create(fixture.db) as Database;
  db.query = ((statement: Statement, values: unknown[] = []) =>
    statement.name === 'settle' && String(values[0]).includes(poisoned)
      ? Promise.reject(new Error('this row cannot be written'))
      : fixture.db.query(statement, values)) as Database['query'];
  Object.assign(db, { log: { warn: (fields: object) => warnings.push(fields) } });
  await emptyDeletedQueue(db, queue.id, NO_CHANGES);
  const rows = await fixture.db.query<{ id: string }>(`select id from job where status = 'pending'`);
  expect(rows).toEqual([{ id: poisoned }]);
  expect(warnings).toEqual([{ err: expect.any(Error), jobId: poisoned }]);
});

it('claims that are taken back are counted, and jobs that died', async () => {
  const fixture = await openFixture();
  const queue = await fixture.createQueue();
  await fixture.publishJobs(queue, 5);
  await fixture.claim(queue, 3);
  await fixture.db.query(`update job set deadline = jobferry_now() - interval '1 s' where status = 'processing'`);
  const takenBack = countedSince(counts.takebacks, 'expired_lease');
  await expireDeadlines(fixture.db, queue.id);
  expect(takenBack()).toBe(3);
  await emptyDeletedQueue(fixture.db, queue.id, NO_CHANGES);
  const died = counts.queues
    .take((id) => id === queue.id)
    .queues.get(queue.id)
    ?.entries();
  expect(died).toEqual([{ values: ['dead', 'queue_deleted'], count: 5 }]);
});
