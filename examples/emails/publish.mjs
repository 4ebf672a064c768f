// @ts-check
/** Publishes a welcome mail for each argument, which is a mail address, with one request. */
import { createClient, unwrap } from '@jobferry/client';

const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '' } = process.env;
const client = createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });

const jobs = process.argv.slice(2).map((to) => ({
  payload: { to, subject: 'Welcome', text: 'It is good to have you here.' },
  // A person who signs up twice gets one mail.
  idempotencyKey: `welcome-${to}`,
}));
for (const answer of await client.jobs.publishMany('emails', jobs)) {
  const { id } = await unwrap(answer);
  console.log(`${id} ${answer.status === 201 ? 'is published' : 'was published before'}`);
}
