import { beforeAll, describe, expect, it } from 'vitest';
import type { Database, Statement } from '../../src/db/connection/database.ts';
import { createJobBatches } from '../../src/services/jobs/batches.ts';
import { DELIVERED, type Fixture, openFixture, RETENTION_MS, settlementOf } from '../support/database-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});

/** Notes which statements reach the database. */
function counting() {
  const names: string[] = [];
  const db: Database = Object.create(fixture.db, {
    query: {
      value: (statement: Statement, values?: unknown[]) => {
        names.push(statement.name);
        return fixture.db.query(statement, values);
      },
    },
    one: {
      value: (statement: Statement, values?: unknown[]) => {
        names.push(statement.name);
        return fixture.db.one(statement, values);
      },
    },
  });
  const periods = { retentionMs: RETENTION_MS, lifetimeMs: RETENTION_MS };
  return { names, batches: createJobBatches({ db, periods } as never) };
}

const account = () => ({ id: fixture.accountId }) as never;
const stranger = { id: '0'.repeat(24) } as never;

async function awaiting(count: number): Promise<string[]> {
  const queue = await fixture.createQueue({ mode: 'ack', concurrency: 50 });
  const ids = await fixture.publishJobs(queue, count);
  for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, DELIVERED);
  return ids;
}

describe('calls about single jobs', () => {
  it('share a statement when they come together, each with its own answer', async () => {
    const ids = await awaiting(20);
    const { names, batches } = counting();
    const found = await Promise.all(ids.map((id) => batches.find(account(), id)));
    expect(found.map(({ id }) => id)).toEqual(ids);
    const settled = await Promise.all(
      found.map((job) => batches.settle(account(), settlementOf(job, { type: 'acked' }, job.now))),
    );
    expect(settled).toEqual(ids.map(() => true));
    const documents = await Promise.all(ids.map((id) => batches.document(account(), id)));
    expect(documents.map(({ id, status }) => [id, status])).toEqual(ids.map((id) => [id, 'completed']));
    expect(names).toEqual(['stored-jobs-kept', 'settle', 'job-documents']);
  });

  it('read no more payloads at a time than a mebibyte', async () => {
    const queue = await fixture.createQueue();
    const large = await fixture.publishJobs(queue, 6, { payload: JSON.stringify({ text: 'x'.repeat(600_000) }) });
    const small = await fixture.publishJobs(queue, 2);
    const { names, batches } = counting();
    const documents = await Promise.all([...large, ...small].map((id) => batches.document(account(), id)));
    expect(documents.map(({ id }) => id)).toEqual([...large, ...small]);
    expect(documents.slice(0, 6).every(({ payload }) => payload.length > 600_000)).toBe(true);
    expect(names).toEqual(Array(6).fill('job-documents'));
  });

  it('find nothing of other accounts, even beside what is theirs', async () => {
    const [id = ''] = await awaiting(1);
    const { batches } = counting();
    const calls = [
      batches.find(stranger, id),
      batches.document(stranger, id),
      batches.find(account(), id),
      batches.document(account(), id),
      batches.find(account(), 'f'.repeat(24)),
    ];
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
  });

  it('let one of several reports in a batch win, and the first only', async () => {
    const [id = '', other = ''] = await awaiting(2);
    const { batches } = counting();
    const job = await batches.find(account(), id);
    const beside = await batches.find(account(), other);
    const nack = settlementOf(job, { type: 'nacked', retryable: false, reason: 'late' }, job.now);
    const won = await Promise.all([
      batches.settle(account(), settlementOf(job, { type: 'acked' }, job.now)),
      batches.settle(account(), nack),
      batches.settle(account(), settlementOf(beside, { type: 'acked' }, job.now)),
      batches.settle(account(), nack),
    ]);
    expect(won).toEqual([true, false, true, false]);
    expect(await batches.document(account(), id)).toMatchObject({
      status: 'completed',
      history: [{ status: 'success' }],
    });
  });
});
