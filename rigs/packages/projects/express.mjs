import { expressHandler } from '@jobferry/client/webhook';
import express from 'express';

const api = { baseUrl: () => process.env.API_URL, apiKey: () => process.env.API_KEY };
const standard = { secret: () => process.env.STANDARD_SECRET };
const ack = { secret: () => process.env.ACK_SECRET, mode: 'ack', ackTimeout: 60, ...api };
const run = ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
};

const app = express();
app.post('/standard', expressHandler(standard, run));
app.post('/ack', expressHandler(ack, run));
app.listen(Number(process.env.PORT), '127.0.0.1');
