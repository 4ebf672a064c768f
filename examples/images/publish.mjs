// @ts-check
/** Draws a picture, publishes a job for each argument, which is a width, and waits until the jobs have ended. */
import { mkdir, writeFile } from 'node:fs/promises';
import { createClient, unwrap } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });
const NAME = 'sunset.ppm';

await mkdir('in', { recursive: true });
await writeFile(`in/${NAME}`, sunset(640, 480));

const ids = [];
for (const width of process.argv.slice(2).map(Number)) {
  const body = { payload: { name: NAME, width } };
  const { id } = await unwrap(client.jobs.publish({ params: { queueName: 'images' }, body }));
  ids.push(id);
}
for (const id of ids) {
  const { status, lastError } = await client.jobs.waitForOutcome(id);
  console.log(`${id} is ${status}${status === 'dead' ? `: ${lastError}` : ''}`);
}

/**
 * @param {number} width
 * @param {number} height
 * @returns {Buffer} a PPM file
 */
function sunset(width, height) {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    const color = Buffer.from([255, Math.round((200 * y) / height), Math.round((90 * (height - y)) / height)]);
    pixels.fill(color, y * width * 3, (y + 1) * width * 3);
  }
  return Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), pixels]);
}
