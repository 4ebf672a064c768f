// @ts-check
/** Creates the queue, or changes the settings that differ. Prints the signing secret of a new queue as a line for `.env`. */
import { createClient } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '', PORT = '9102', ACK_TIMEOUT = '30' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });

const { outcome, signingSecret } = await client.queues.ensure({
  name: 'images',
  webhookUrl: `http://127.0.0.1:${PORT}/`,
  mode: 'ack',
  // Short: the heartbeat of the receiver extends it. A job whose process died is delivered again after this time.
  ackTimeout: Number(ACK_TIMEOUT),
  // One for each core.
  concurrency: 2,
});
console.error(`queue images: ${outcome}`);
if (signingSecret !== null) console.log(`JOBFERRY_SECRET=${signingSecret}`);
