const { createServer } = require('node:http');
const { expressHandler } = require('@jobferry/client/webhook');

const api = { baseUrl: () => process.env.API_URL, apiKey: () => process.env.API_KEY };
const standard = { secret: () => process.env.STANDARD_SECRET };
const ack = { secret: () => process.env.ACK_SECRET, mode: 'ack', ackTimeout: 60, ...api };
const run = ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
};
const handlers = { '/standard': expressHandler(standard, run), '/ack': expressHandler(ack, run) };

const notFound = (_req, res) => res.writeHead(404).end();
const server = createServer((req, res) => (handlers[req.url] ?? notFound)(req, res));
server.listen(Number(process.env.PORT), '127.0.0.1');
