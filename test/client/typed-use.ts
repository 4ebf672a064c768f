/** A program that uses the types. Types that were not found would be `any`, and then nothing here would be an error. */
export const TYPED_USE = `
import { contract, createClient, type Job, rawJson, unwrap } from '@jobferry/client';
import { Backpressure, expressHandler, fastifyHandler, fetchHandler, Permanent, verifySignature } from '@jobferry/client/webhook';
import { z } from 'zod';

interface Email { to: string }

export async function use(email: Email): Promise<string> {
  const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'k', fetch });
  const params = { queueName: 'emails' };
  const result = await client.jobs.publish({ params, body: { payload: email, delay: 1 } });
  if (result.status === 400) return result.body.error.formErrors.join();
  // @ts-expect-error a 200 and a 404 have nothing but the status in common
  result.body.id;
  // @ts-expect-error the payload is missing
  await client.jobs.publish({ params, body: {} });
  // @ts-expect-error an array is no payload
  await client.jobs.publish({ params, body: { payload: [1] } });
  // @ts-expect-error nor is a Map, which JSON would make {} of
  await client.jobs.publish({ params, body: { payload: new Map([['to', 'ada']]) } });
  // @ts-expect-error JSON would leave a function out
  await client.jobs.publish({ params, body: { payload: () => email } });
  // @ts-expect-error JSON would write a date as text
  await client.jobs.publish({ params, body: { payload: new Date() } });
  await client.jobs.publish({ params, body: { payload: { to: 'ada', length: 3 } } });
  const { signingSecret } = await client.queues.ensure({ name: 'emails', webhookUrl: 'https://shop.example/' });
  const secretOrNull: string | null = signingSecret;
  // @ts-expect-error there is no such state
  await client.jobs.cancelMany({ states: ['FAILED'] }, { dryRun: secretOrNull === null });
  await client.jobs.ack({ params: { id: 'a' } });
  await client.jobs.ack({ params: { id: 'a' }, body: { attempt: 2 } });
  // @ts-expect-error there is no such status of a job
  await client.jobs.list({ params: { id: 'a' }, query: { status: 'done' } });
  const job: Job = await unwrap(client.jobs.get({ params: { id: 'a' } }));
  // @ts-expect-error timestamps are strings
  job.createdAt.getTime();
  await unwrap(client.jobs.publish({ params, body: { payload: rawJson('{}') } }));
  return job.createdAt;
}

export const express: (req: never, res: never) => Promise<void> = expressHandler<Email>({ secret: 's' }, ({ job }) => {
  // @ts-expect-error the payload is an Email
  job.payload.from;
  if (job.payload.to === '') throw new Backpressure(30);
});
export const handle: (request: Request) => Promise<Response> =
  fetchHandler<Email>({ secrets: ['s'], mode: 'ack' }, async ({ nack }) => nack({ retryable: false }));
fetchHandler({ secret: () => 's', apiKey: async () => 'k' }, ({ signal }) => signal.aborted);
fetchHandler({ secrets: async () => ['s'] }, () => undefined);
fetchHandler({ secret: 's', schema: z.object({ to: z.string() }) }, ({ job }) => {
  // @ts-expect-error the payload is what the schema returns
  job.payload.from;
  return new Permanent(job.payload.to);
});
// @ts-expect-error a secret is needed
fetchHandler({}, () => undefined);
fastifyHandler<Email>({ secret: 's' }, ({ job }) => job.payload.to);
export const path: '/v1/jobs/:id' = contract.jobs.get.path;
export const verified: Promise<boolean> = verifySignature(new Uint8Array(), null, 's');
`;
