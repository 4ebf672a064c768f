import { queryObjects } from 'node:v8';
import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { openGraphQL } from '../support/graphql-server.ts';

it('a stream keeps none of the rows of its earlier events', async () => {
  const server = await openGraphQL((await createTestDatabase()).url);
  const { graphql } = await server.newAccount();
  const QUEUES = 50;
  for (let n = 0; n < QUEUES; n += 1) {
    await graphql.query(
      'mutation C($name: String!) { createQueue(input: { name: $name, webhookUrl: "http://127.0.0.1:9/" }) { __typename } }',
      { name: `queue-${n}` },
    );
  }
  const stream = graphql.subscribe('subscription { queueStats(everySeconds: 1) { queues { id createdAt } } }');
  // Each row has a date of its own. Objects are counted after a garbage collection.
  const datesAfter = async () => {
    const { data } = await stream.next();
    expect(data.queueStats.queues).toHaveLength(QUEUES);
    return queryObjects(Date, { format: 'count' });
  };
  await datesAfter();
  const second = await datesAfter();
  for (let n = 0; n < 3; n += 1) expect(await datesAfter()).toBeLessThan(second + QUEUES / 2);
  stream.close();
});
