// The program that a team would write instead: an Express API and a worker on a queue library.
//
//   node peers/main.mjs bullmq|pg-boss|graphile-worker|floor api|worker
//
// Everything but the library is the same: the API of api.mjs, the delivery of deliver.mjs.
import { createApi } from './api.mjs';
import { createDelivery } from './deliver.mjs';

const [library, role] = process.argv.slice(2);
const { openQueue, startWorker } = await import(`./${library}.mjs`);
const concurrency = Number(process.env.CONCURRENCY);
const deliver = createDelivery({ url: process.env.WEBHOOK_URL, secret: process.env.SIGNING_SECRET, concurrency });
const settings = { env: process.env, queue: process.env.QUEUE, concurrency, deliver };

process.on('SIGTERM', () => process.exit(0));

if (role === 'worker') {
  await startWorker(settings);
  console.log('ready');
} else {
  const app = createApi({ apiKey: process.env.API_KEY, queue: settings.queue, add: await openQueue(settings) });
  const server = app.listen(0, '127.0.0.1', () => console.log(`ready on http://127.0.0.1:${server.address().port}`));
}
