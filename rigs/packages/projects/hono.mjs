import { serve } from '@hono/node-server';
import { fetchHandler } from '@jobferry/client/webhook';
import { Hono } from 'hono';

const api = { baseUrl: () => process.env.API_URL, apiKey: () => process.env.API_KEY };
const standard = { secret: () => process.env.STANDARD_SECRET };
const ack = { secret: () => process.env.ACK_SECRET, mode: 'ack', ackTimeout: 60, ...api };
const run = ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
};
const [handle, handleAck] = [fetchHandler(standard, run), fetchHandler(ack, run)];

const app = new Hono();
app.post('/standard', (c) => handle(c.req.raw));
app.post('/ack', (c) => handleAck(c.req.raw));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT) });
