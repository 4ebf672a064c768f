import { fetchHandler, Permanent } from '@jobferry/client/webhook';

/** Read at the first delivery, because a build has no secret. */
const secret = () => process.env.JOBFERRY_SECRET ?? '';

const handle = fetchHandler<{ to: string }>({ secret }, async ({ job }) => {
  const { to } = job.payload;
  if (!to.includes('@')) throw new Permanent(`${to} is no mail address`);
  console.log(`mail to ${to}, attempt ${job.attempt}`);
});

export const POST = (request: Request) => handle(request);
