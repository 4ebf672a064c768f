import { expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import { startServiceProcess } from '../support/service.ts';

/** Errors in variables and documents quote the request, so their number times their length needs a limit. */

const KEY = 'key-of-the-bootstrap-account';
/** Below the limit of a request body. */
const BYTES = 1_000_000;
/** A small container. Without limits, each of the first three bodies ends the process. */
const { jobferry } = await startServiceProcess({
  BOOTSTRAP_API_KEY: KEY,
  NODE_OPTIONS: '--max-old-space-size=256',
});
const graphql = createGraphQLClient(jobferry.baseUrl, KEY);

const JOBS = 'query Q($filter: JobFilter) { jobs(filter: $filter) { totalCount } }';
const members = (count: number) => {
  const padding = 'x'.repeat(Math.floor(BYTES / count) - 20);
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`unknown${n}`, padding]));
};
const longName = 'x'.repeat(BYTES - 10_000);

/** Each becomes an error of a field, which quotes it. */
const NO_TEXTS = Array(5).fill('\ud800'.repeat(BYTES / 30));
const ALIASES = Array.from({ length: 20 }, (_, n) => `a${n}: count(filter: $filter) { count }`).join(' ');
const deep = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as object;

const BODIES: [name: string, document: string, variables?: object][] = [
  ['400 unknown members', JOBS, { filter: members(400) }],
  ['4000 unknown members', JOBS, { filter: members(4000) }],
  ['20 000 unknown members', JOBS, { filter: members(20_000) }],
  ['90 000 wrong enum values', JOBS, { filter: { deadReasons: Array(90_000).fill('DAED') } }],
  ['one long enum value', JOBS, { filter: { deadReasons: [longName] } }],
  ['a member with a long name', JOBS, { filter: { [longName]: 1 } }],
  ['a long name of the operation', `query ${longName} { ${'me(a: $b) '.repeat(500)} }`],
  ['a long alias', `{ ${longName}: me { label } }`],
  ['comments', `{ me { labels } } ${'#\n'.repeat(BYTES / 3)}`],
  ['texts that cannot be stored', `query Q($filter: JobFilter) { ${ALIASES} }`, { filter: { queueNames: NO_TEXTS } }],
  ['lists in lists', JOBS, { filter: { ids: [deep(60), ...Array(7000).fill(deep(60))] } }],
  ['objects for texts', JOBS, { filter: { ids: Array(100_000).fill({ a: 1 }) } }],
  [
    '400 variables of 2 kB',
    manyVariables(400),
    Object.fromEntries(names(400).map((name) => [name, longName.slice(0, 2400)])),
  ],
  ['a long text for a number', `{ jobs(first: "${longName}") { totalCount } }`],
];

function names(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `v${n}`);
}

function manyVariables(count: number): string {
  return `query Q(${names(count).map((name) => `$${name}: Int`)}) { me { label } }`;
}

it.each(BODIES)('%s in 1 MB are refused with a short answer', async (_name, document, variables) => {
  const answer = await graphql.send(document, variables);
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.errors).length).toBeLessThan(30_000);
  const { me } = await graphql.query('{ me { label } }');
  expect(me).toBeTruthy();
});

it('other members of the body in 1 MB are refused or ignored, with a short answer', async () => {
  const query = 'query A { me { label } } query B { me { label } }';
  const statuses: number[] = [];
  for (const body of [
    { query, operationName: longName },
    { query: '{ me { label } }', extensions: members(400) },
    { query: '{ me { label } }', ...members(400) },
    { query: longName },
  ]) {
    const { status, text } = await send('/graphql', body);
    statuses.push(status);
    expect(text.length).toBeLessThan(20_000);
  }
  expect(statuses).toEqual([400, 200, 400, 400]);
});

it.each([
  [
    'POST',
    '/v1/queues',
    {
      name: 'q',
      webhookUrl: 'https://example.com/',
      mode: longName.slice(0, BYTES / 2),
      backoffType: longName.slice(0, BYTES / 3),
    },
  ],
  ['POST', '/v1/queues', { name: longName.slice(0, BYTES / 2), webhookUrl: longName.slice(0, BYTES / 3) }],
  ['POST', '/v1/queues/q/jobs', { payload: {}, delay: longName, idempotencyKey: longName.slice(0, 300) }],
  ['POST', `/v1/jobs/${'0'.repeat(24)}/defer`, { retryAfter: 1, scope: longName }],
  ['POST', `/v1/queues/${'0'.repeat(24)}/dlq/replay`, { jobIds: Array(BYTES / 2 - 100).fill(1) }],
  ['POST', `/v1/queues/${'0'.repeat(24)}/dlq/replay`, { jobIds: Array(1000).fill(1) }],
  ['POST', '/v1/queues/q/jobs', Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`k${n}`, 1]))],
])('REST: %s %s of 1 MB is refused with a short answer', async (_method, path, body) => {
  const { status, text } = await send(path, body);
  expect(status).toBe(400);
  expect(text.length).toBeLessThan(2000);
});

async function send(path: string, body: object) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const response = await fetch(jobferry.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}
