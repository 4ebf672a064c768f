import { fetchHandler } from '@jobferry/client/webhook';

const api = { baseUrl: () => process.env.API_URL, apiKey: () => process.env.API_KEY };
const standard = { secret: () => process.env.STANDARD_SECRET };
const ack = { secret: () => process.env.ACK_SECRET, mode: 'ack', ackTimeout: 60, ...api };
const run = ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
};
const [handle, handleAck] = [fetchHandler(standard, run), fetchHandler(ack, run)];

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT),
  routes: { '/standard': { POST: (request) => handle(request) }, '/ack': { POST: (request) => handleAck(request) } },
});
