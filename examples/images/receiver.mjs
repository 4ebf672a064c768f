// @ts-check
/** Receives the jobs of the queue images: makes a picture of the folder `in` smaller, and stores it in the folder `out`. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expressHandler, Permanent } from '@jobferry/client/webhook';
import { resize } from './resize.mjs';

const { JOBFERRY_URL: baseUrl, JOBFERRY_API_KEY: apiKey, JOBFERRY_SECRET: secret = '' } = process.env;
const { PORT = '9102', STEP_MS = '300' } = process.env;
const MAX_WIDTH = 4096;

await mkdir('out', { recursive: true });

const handle = expressHandler(
  // Without an API key, reports and extensions go to the URL that each delivery brings.
  { mode: 'ack', secret, baseUrl, apiKey, heartbeat: true },
  /** @param {import('@jobferry/client/webhook').Delivery<{ name: string, width: number }>} delivery */
  async ({ job, signal, extend }) => {
    const { width } = job.payload;
    // No path leads out of the folder.
    const name = basename(job.payload.name);
    if (!Number.isInteger(width) || width < 1 || width > MAX_WIDTH) throw new Permanent(`the width is ${width}`);
    const original = await readFile(`in/${name}`).catch(() => null);
    if (original === null) throw new Permanent(`there is no picture ${name}`);
    const result = await resize(original, width, async (percent) => {
      // The attempt is over, so the rest of the work would be in vain.
      signal.throwIfAborted();
      await extend(30, `${percent} % of ${name}`);
      await sleep(Number(STEP_MS));
    });
    if (result === null) throw new Permanent(`${name} is not a PPM picture`);
    await writeFile(`out/${width}-${name}`, result);
    console.log(`wrote out/${width}-${name}`);
  },
);

createServer(handle).listen(Number(PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${PORT}/`));
