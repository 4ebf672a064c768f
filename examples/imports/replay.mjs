// @ts-check
/** Replays the rows that were refused for good, when their cause is fixed. Each becomes a new job. */
import { createClient, unwrap } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });

const queues = await unwrap(client.queues.list());
const queue = queues.find(({ name }) => name === 'import-rows');
if (queue === undefined) throw new Error('there is no queue import-rows: run setup.mjs first');
// The receiver answers 422 when a function throws `Permanent`. Rows that failed for another reason stay as they are.
const filter = { queueIds: [queue.id], webhookStatusCodes: [422], replayed: false };
const { matched, action } = await client.deadLetters.replayMatching(filter);
console.log(`rows that match: ${matched}`);
if (action !== null) {
  const { succeeded, status } = await client.bulkActions.waitForEnd(action.id);
  console.log(`rows that are replayed: ${succeeded} (${status})`);
}
