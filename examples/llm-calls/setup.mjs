// @ts-check
/** Creates the queue, or changes the settings that differ. Prints the signing secret of a new queue as a line for `.env`. */
import { createClient } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '', PORT = '9101', CONCURRENCY = '4' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });

const { outcome, signingSecret } = await client.queues.ensure({
  name: 'llm-calls',
  webhookUrl: `http://127.0.0.1:${PORT}/`,
  // Ack mode, and an ack timeout of 600 s.
  template: 'anthropic',
  // Number of calls to the LLM at once.
  concurrency: Number(CONCURRENCY),
  // A job is dead after this many holds. The LLM may be busy for hours.
  maxDefers: 100,
});
console.error(`queue llm-calls: ${outcome}`);
if (signingSecret !== null) console.log(`JOBFERRY_SECRET=${signingSecret}`);
