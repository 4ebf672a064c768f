import { expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import { startService } from '../support/service.ts';

/** Errors in variables and documents quote the request, so their number times their length needs a limit. */

const KEY = 'key-of-the-bootstrap-account';
/** Below the limit of a request body. */
const BYTES = 1_000_000;
/** A small container. Without limits, each of the first three bodies ends the process. */
const { jobferry } = await startService({
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

const BODIES: [name: string, document: string, variables?: object][] = [
  ['400 unknown members', JOBS, { filter: members(400) }],
  ['4000 unknown members', JOBS, { filter: members(4000) }],
  ['20 000 unknown members', JOBS, { filter: members(20_000) }],
  ['90 000 wrong enum values', JOBS, { filter: { deadReasons: Array(90_000).fill('DAED') } }],
  ['one long enum value', JOBS, { filter: { deadReasons: [longName] } }],
  ['a member with a long name', JOBS, { filter: { [longName]: 1 } }],
  ['a long name of the operation', `query ${longName} { ${'me(a: $b) '.repeat(500)} }`],
  ['a long text for a number', `{ jobs(first: "${longName}") { totalCount } }`],
];

it.each(BODIES)('%s in 1 MB are refused with a short answer', async (_name, document, variables) => {
  const answer = await graphql.send(document, variables);
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.errors).length).toBeLessThan(20_000);
  const { me } = await graphql.query('{ me { label } }');
  expect(me).toBeTruthy();
});
