import { isDeepStrictEqual } from 'node:util';
import { contract, createClient, type Job, unwrap } from '@jobferry/client';
import { QueryClient } from '@tanstack/react-query';
import { initClient } from '@ts-rest/core';
import { initTsrReactQuery } from '@ts-rest/react-query/v5';

const { API_URL: baseUrl = '', API_KEY: apiKey = '' } = process.env;
const options = { baseUrl, baseHeaders: { authorization: `Bearer ${apiKey}` } };
// Checks each answer against the schemas of the contract.
const plain = initClient(contract, { ...options, validateResponse: true });
const ours = createClient({ baseUrl, apiKey });

const webhookUrl = 'http://127.0.0.1:9/';
const created = await plain.queues.create({ body: { name: 'ts-rest', webhookUrl, dlqEnabled: true } });
if (created.status !== 201) throw new Error(`create: ${JSON.stringify(created)}`);
const secret: string = created.body.signingSecret;
const published = await plain.jobs.publish({
  params: { queueName: 'ts-rest' },
  body: { payload: { to: 'ada' }, delay: 3600 },
});
if (published.status !== 201) throw new Error(`publish: ${JSON.stringify(published)}`);
const { id } = published.body;
const got = await plain.jobs.get({ params: { id } });
if (got.status !== 200) throw new Error(`get: ${JSON.stringify(got)}`);
const job: Job = got.body;
const listed = await plain.jobs.list({ params: { id: created.body.id }, query: { limit: 10, status: 'pending' } });
const dead = await plain.deadLetters.list({ params: { id: created.body.id }, query: { includeReplayed: false } });
// @ts-expect-error there is no such status of a job
await plain.jobs.list({ params: { id: created.body.id }, query: { status: 'done' } });
// @ts-expect-error the payload is missing
const refused = await plain.jobs.publish({ params: { queueName: 'ts-rest' }, body: {} });

const tsr = initTsrReactQuery(contract, options);
const queries = tsr.initQueryClient(new QueryClient());
const fetched = await queries.jobs.get.fetchQuery({ queryKey: ['job', id], queryData: { params: { id } } });
const cached: string = fetched.body.createdAt;

const same = isDeepStrictEqual(job, await unwrap(ours.jobs.get({ params: { id } })));
// From here on the job may end at any time.
const removed = await plain.queues.delete({ params: { id: created.body.id } });
console.log(
  JSON.stringify({
    secret: secret.length > 0,
    same,
    payload: job.payload,
    listed: listed.status === 200 && listed.body.jobs.map((one) => one.id === id),
    dead: dead.status === 200 && dead.body.total,
    refused: refused.status,
    cached: cached === published.body.createdAt,
    removed: removed.status,
  }),
);
