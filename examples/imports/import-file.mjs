// @ts-check
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { createClient, unwrap } from '@jobferry/client';
import { Permanent } from '@jobferry/client/webhook';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });
/** Jobs that one request publishes; at most 1000. */
const BATCH = 500;

/**
 * Publishes a job for each row of a file, and waits until the jobs have ended.
 *
 * @param {import('@jobferry/client/webhook').Delivery<{ file: string }>} delivery
 */
export async function importFile({ job, signal, extend }) {
  const file = basename(job.payload.file);
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Permanent(`there is no file ${file}`);
  });
  const rows = rowsOf(text).map((payload, at) => ({ payload, idempotencyKey: `${job.id}-${at + 1}` }));
  const ids = [];
  for (let at = 0; at < rows.length; at += BATCH) {
    const answers = await client.jobs.publishMany('import-rows', rows.slice(at, at + BATCH), { signal });
    for (const answer of answers) ids.push((await unwrap(answer)).id);
    await extend(30, `${ids.length} of ${rows.length} rows are published`);
  }
  let failed = 0;
  for (const id of ids) {
    const { status } = await client.jobs.waitForOutcome(id, { signal });
    if (status === 'dead') failed += 1;
  }
  const result = `${ids.length - failed} of ${ids.length} rows are imported, ${failed} failed`;
  await extend(30, result);
  console.log(`${file}: ${result}`);
}

/**
 * Reads a simple CSV file: the first line has the names, and no value has a comma.
 *
 * @param {string} text
 * @returns {Record<string, string>[]}
 */
function rowsOf(text) {
  const [names = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(','));
  return rows.map((values) => Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])));
}
