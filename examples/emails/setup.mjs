// @ts-check
/** Creates the queue, or changes the settings that differ. Prints the signing secret of a new queue as a line for `.env`. */
import { createClient } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '', PORT = '9103' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });

const { outcome, signingSecret } = await client.queues.ensure({
  name: 'emails',
  webhookUrl: `http://127.0.0.1:${PORT}/`,
  // Five deliveries in each second.
  rateLimitMax: 5,
  rateLimitWindow: 1,
  // With the exponential back-off from 10 s on, a server that is away for an hour loses no mail.
  maxAttempts: 10,
  backoffDelay: 10,
});
console.error(`queue emails: ${outcome}`);
if (signingSecret !== null) console.log(`JOBFERRY_SECRET=${signingSecret}`);
