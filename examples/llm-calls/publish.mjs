// @ts-check
/** Publishes a job for each argument, which is a prompt. */
import { createHash } from 'node:crypto';
import { createClient, unwrap } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });

for (const prompt of process.argv.slice(2)) {
  const idempotencyKey = createHash('sha256').update(prompt).digest('hex');
  const body = { payload: { prompt }, idempotencyKey };
  const answer = await client.jobs.publish({ params: { queueName: 'llm-calls' }, body });
  const { id } = await unwrap(answer);
  console.log(`${id} ${answer.status === 201 ? 'is published' : 'was published before'}`);
}
