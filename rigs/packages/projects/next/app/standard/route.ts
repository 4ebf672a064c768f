import { fetchHandler } from '@jobferry/client/webhook';

const secret = () => process.env.STANDARD_SECRET ?? '';
const handle = fetchHandler<{ to: string }>({ secret }, ({ job }) => {
  if (job.payload.to !== 'ada') throw new Error(`the payload is ${job.raw}`);
});

export const POST = (request: Request) => handle(request);
