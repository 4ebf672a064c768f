// @ts-check
/** Creates the two queues, or changes the settings that differ. Prints the signing secrets of new queues as lines for `.env`. */
import { createClient } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '', PORT = '9104' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });
const receiver = `http://127.0.0.1:${PORT}`;

/** @type {import('@jobferry/client').QueueCreateInput[]} */
const queues = [
  // An import waits for its rows, so it takes long, and needs ack mode.
  { name: 'imports', webhookUrl: `${receiver}/imports`, mode: 'ack', ackTimeout: 30, concurrency: 2 },
  { name: 'import-rows', webhookUrl: `${receiver}/import-rows`, concurrency: 10, dlqEnabled: true },
];
for (const queue of queues) {
  const { outcome, signingSecret } = await client.queues.ensure(queue);
  console.error(`queue ${queue.name}: ${outcome}`);
  const name = queue.name.toUpperCase().replaceAll('-', '_');
  if (signingSecret !== null) console.log(`JOBFERRY_SECRET_${name}=${signingSecret}`);
}
