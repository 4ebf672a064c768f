import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { unavailable } from '../../src/domain/errors.ts';
import { insertDeadLetters } from '../support/bulk.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices, type TestServices } from '../support/services.ts';

/** A bulk replay with so many bytes that it takes two commits, of which the second fails. */
const LETTERS = 34;
const PAYLOAD = `{"fill":"${'x'.repeat(1024 * 1024 - 20)}"}`;

let op: TestServices;
let account: Account;
let queues = 0;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  account = await op.firstAccount();
});

async function deadLetters(): Promise<{ queueId: string; ids: string[] }> {
  const name = `queue-${++queues}`;
  const { id: queueId } = await op.queues.create(account, { name, webhookUrl: 'http://127.0.0.1:9/' });
  return { queueId, ids: await insertDeadLetters(op.db, queueId, LETTERS, { payload: PAYLOAD }) };
}

/** From the second commit of a replay on. */
function plant(instead: () => unknown[]): void {
  const query = op.db.query.bind(op.db);
  let commits = 0;
  op.db.query = (async (...args: Parameters<typeof query>) => {
    const [statement] = args;
    const isReplay = typeof statement === 'object' && statement.name === 'replay-audited';
    return isReplay && ++commits > 1 ? instead() : query(...args);
  }) as typeof query;
  onTestFinished(() => {
    op.db.query = query;
  });
}

async function replayed(queueId: string): Promise<number> {
  const text = 'select count(*) as n from dead_letter where queue_id = $1 and replayed_at is not null';
  return (await op.db.one<{ n: number }>(text, [queueId]))?.n ?? 0;
}

it('a replay announces the job that died as well as the new one', async () => {
  const { queueId, ids } = await deadLetters();
  const [letter = ''] = ids;
  op.changes.splice(0);
  const { id } = await op.deadLetters.replay(account, queueId, letter);
  const dead = await op.db.one<{ id: string }>('select job_id as id from dead_letter where id = $1', [letter]);
  const of = (jobId = '') => ({ accountId: account.id, jobId });
  expect(op.changes).toEqual([{ ...of(id), queueId }, of(dead?.id)]);
});

describe('a bulk replay whose second commit fails', () => {
  it('does not report that nothing was stored', async () => {
    const { queueId, ids } = await deadLetters();
    plant(() => {
      throw unavailable('the database is not available', 'nothing');
    });
    const failure = {
      kind: 'unavailable',
      stored: 'unknown',
      message: expect.stringContaining('may have been stored'),
    };
    await expect(op.deadLetters.replayMany(account, queueId, ids)).rejects.toMatchObject(failure);
    expect(await replayed(queueId)).toBeGreaterThan(0);
  });

  it('returns what was replayed when the plan allows no more', async () => {
    const { queueId, ids } = await deadLetters();
    plant(() => [{ answer: { outcome: 'limit_reached' } }]);
    const answer = await op.deadLetters.replayMany(account, queueId, ids);
    expect(answer.replayed).toBe(await replayed(queueId));
    expect(answer.replayed + answer.skipped).toBe(LETTERS);
    expect(answer.errors[0]?.error).toContain('plan');
  });
});
