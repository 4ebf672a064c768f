import { fastifyHandler } from '@jobferry/client/webhook';
import fastify from 'fastify';

const api = { baseUrl: () => process.env.API_URL, apiKey: () => process.env.API_KEY };
const standard = { secret: () => process.env.STANDARD_SECRET };
const ack = { secret: () => process.env.ACK_SECRET, mode: 'ack', ackTimeout: 60, ...api };
const run = ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
};

const app = fastify();
app.register(fastifyHandler(standard, run), { prefix: '/standard' });
app.register(fastifyHandler({ ...ack, maxBodyBytes: 1000 }, run), { prefix: '/ack' });
// Other routes keep the parser that Fastify has for JSON.
app.post('/other', async (request) => ({ parsed: request.body.to }));
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
