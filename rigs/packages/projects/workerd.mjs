import { env } from 'cloudflare:workers';
import { fetchHandler } from '@jobferry/client/webhook';

const run = ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
};
const api = { baseUrl: () => env.API_URL, apiKey: () => env.API_KEY };
const standard = fetchHandler({ secret: () => env.STANDARD_SECRET }, run);
const ack = fetchHandler({ secret: () => env.ACK_SECRET, mode: 'ack', ackTimeout: 60, ...api }, run);

export default {
  fetch: (request, _env, ctx) => (new URL(request.url).pathname === '/ack' ? ack : standard)(request, ctx),
};
