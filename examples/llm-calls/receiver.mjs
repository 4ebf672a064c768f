// @ts-check
/** Receives the jobs of the queue llm-calls, asks the LLM, and stores each answer in the folder `answers`. */
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { expressHandler, Permanent } from '@jobferry/client/webhook';
import { ask } from './llm.mjs';

const { JOBFERRY_URL: baseUrl, JOBFERRY_API_KEY: apiKey, JOBFERRY_SECRET: secret = '', PORT = '9101' } = process.env;

await mkdir('answers', { recursive: true });

const handle = expressHandler(
  { mode: 'ack', secret, baseUrl, apiKey },
  /** @param {import('@jobferry/client/webhook').Delivery<{ prompt?: string }>} delivery */
  async ({ job, signal }) => {
    const { prompt } = job.payload;
    if (!prompt) throw new Permanent('the payload has no prompt');
    const file = `answers/${job.id}.json`;
    // A delivery can come twice.
    if (existsSync(file)) return;
    const answer = await ask(prompt, signal);
    // A file with this name is always complete.
    await writeFile(`${file}.part`, JSON.stringify({ prompt, answer }, null, 2));
    await rename(`${file}.part`, file);
    console.log(`answered ${job.id}`);
  },
);

createServer(handle).listen(Number(PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${PORT}/`));
