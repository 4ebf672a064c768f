// @ts-check
/** Publishes the import of a file in this folder, and waits until it has ended. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createClient, unwrap } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });
const [, , file = 'customers.csv'] = process.argv;

// The same content is imported once in 72 hours, under any name.
const idempotencyKey = createHash('sha256')
  .update(await readFile(file))
  .digest('hex');
const body = { payload: { file }, idempotencyKey };
const { id } = await unwrap(client.jobs.publish({ params: { queueName: 'imports' }, body }));
const { status, lastError } = await client.jobs.waitForOutcome(id);
const progress = await client.jobs.progress(id);
console.log(`${id} is ${status}: ${status === 'dead' ? lastError : progress?.text}`);
