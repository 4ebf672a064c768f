import { fetchHandler } from '@jobferry/client/webhook';

const secret = () => process.env.ACK_SECRET ?? '';
const api = { baseUrl: () => process.env.API_URL ?? '', apiKey: () => process.env.API_KEY ?? '' };
const handle = fetchHandler<{ to: string }>({ secret, mode: 'ack', ackTimeout: 60, ...api }, ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
});

export const POST = (request: Request) => handle(request);
