import { beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { openGraphQL } from '../support/graphql-server.ts';

/** Usage by month and by queue, over the wire. */

let server: Awaited<ReturnType<typeof openGraphQL>>;

beforeAll(async () => {
  server = await openGraphQL((await createTestDatabase()).url);
});

const BY_QUEUE = `query U($month: String, $first: Int) { account { usage { month months { month attempts }
  byQueue(month: $month, first: $first) {
    countedUntil otherQueues otherAttempts queues { queueId queueName attempts succeeded failed deferred } } } } }`;

describe('usage', () => {
  it('has the months of the account and the queues of one month, and nothing of others', async () => {
    const [own, other] = [await server.newAccount(), await server.newAccount()];
    const { db } = server.op;
    for (const { id } of [own, other]) {
      await db.query(`insert into usage (account_id, month, attempts) values ($1, '2026-09', 12), ($1, '2026-10', 7)`, [
        id,
      ]);
      await db.query(
        `insert into queue_usage (account_id, month, queue_id, queue_name, success, failed, deferred, counted_until)
         select $1, '2026-09', 'q' || n, 'queue-' || n, n, 1, 0, now() from generate_series(1, 3) n`,
        [id],
      );
    }
    const position = Date.UTC(2026, 9, 5);
    await db.query(`insert into follower (name, position) values ('queue-usage', $1)`, [String(position)]);
    const { account } = await own.graphql.query(BY_QUEUE, { month: '2026-09', first: 2 });
    expect(account.usage).toMatchObject({
      months: [
        { month: '2026-10', attempts: 7 },
        { month: '2026-09', attempts: 12 },
      ],
      byQueue: {
        countedUntil: new Date(position).toISOString(),
        otherQueues: 1,
        otherAttempts: 2,
        queues: [
          { queueId: 'q3', queueName: 'queue-3', attempts: 4, succeeded: 3, failed: 1, deferred: 0 },
          { queueId: 'q2', attempts: 3 },
        ],
      },
    });
    const present = await own.graphql.query(BY_QUEUE);
    expect(present.account.usage.byQueue.queues, 'of the present month').toEqual([]);
  });

  it.each([
    [{ month: '2026-13' }, 'month must be of the form YYYY-MM'],
    [{ month: "2026-10'" }, 'month must be of the form YYYY-MM'],
    [{ first: 0 }, 'first must be between 1 and 1000'],
    [{ first: 1001 }, 'first must be between 1 and 1000'],
  ])('refuses %j', async (variables, message) => {
    const { graphql } = await server.newAccount();
    await expect(graphql.query(BY_QUEUE, variables)).rejects.toThrow(message);
  });
});
