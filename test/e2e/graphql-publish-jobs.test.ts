import { expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import { openReceiver, startService } from '../support/service.ts';
import { DATE_TIME } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

const KEY = 'key-of-the-bootstrap-account';
const { api, jobferry } = await startService({ BOOTSTRAP_API_KEY: KEY });
const graphql = createGraphQLClient(jobferry.baseUrl, KEY);
const receiver = await openReceiver();

const PUBLISH_JOBS = `mutation ($jobs: [PublishJobsInput!]!) {
  publishJobs(jobs: $jobs) {
    ... on PublishJobsPayload { answers {
      __typename
      ... on PublishJobPayload { created payloadDiffers job { id payloadText } }
      ... on Error { message }
      ... on ValidationError { fieldErrors { field messages } }
    } }
  }
}`;

it('shows a queue whose publishes over REST have names that the API ignores', async () => {
  const { name } = await api.createQueue({ name: 'typos', webhookUrl: receiver.url });
  const QUEUE = '{ queue(name: "typos") { ignoredNames { names count since lastAt } } }';
  for (const body of [{ dealy: 1 }, { scheduledFor: 'x' }, { scheduledFor: 'x', key: 'y' }]) {
    await api.call('POST', `/v1/queues/${name}/jobs`, { payload: {}, ...body });
  }
  const shown = await waitFor(async () => (await graphql.query(QUEUE)).queue.ignoredNames);
  expect(shown).toEqual({
    names: 'scheduledFor (did you mean delay?), key (did you mean idempotencyKey?)',
    count: 3,
    since: DATE_TIME,
    lastAt: DATE_TIME,
  });
});

it('accepts or refuses each job by itself', async () => {
  const { name: queue } = await api.createQueue({ name: 'mails', webhookUrl: receiver.url });
  const { data, errors } = await graphql.send(PUBLISH_JOBS, {
    jobs: [
      { queue, job: { payload: { n: 1 }, idempotencyKey: 'one' } },
      { queue: 'no-such-queue', job: { payload: {} } },
      { queue, job: {} },
      { queue, job: { payloadText: '[]' } },
      { queue, job: { payload: {}, delay: 86_401 } },
      { queue, job: { payloadText: '{"n":  1}', idempotencyKey: 'one' } },
    ],
  });
  expect(errors).toBeUndefined();
  expect(data.publishJobs.answers).toEqual([
    {
      __typename: 'PublishJobPayload',
      created: true,
      payloadDiffers: false,
      job: { id: expect.any(String), payloadText: '{"n":1}' },
    },
    { __typename: 'NotFoundError', message: 'queue not found' },
    {
      __typename: 'ValidationError',
      message: 'give either payload or payloadText',
      fieldErrors: [{ field: 'payload', messages: ['give either payload or payloadText'] }],
    },
    expect.objectContaining({ __typename: 'ValidationError' }),
    expect.objectContaining({
      __typename: 'ValidationError',
      fieldErrors: [expect.objectContaining({ field: 'delay' })],
    }),
    expect.objectContaining({ __typename: 'PublishJobPayload', created: false, payloadDiffers: true }),
  ]);
});
