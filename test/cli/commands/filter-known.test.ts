import { expect, it } from 'vitest';
import { createFakeClient } from '../../../packages/client/src/testing/index.ts';
import { questionOf } from '../../../src/cli/commands/job-filter.ts';

/** Look-ups for words of people in `--filter`, of which the server refuses some. */

interface Asked {
  query: string;
  variables: { filter?: object };
}

const TOO_SLOW = 'the searches of this request take more than 2 s: narrow them down by time, queue, state or payload';
const PATHS = [
  { value: 'customer.id', count: 9, isNumber: false },
  { value: 'customer.ref', count: 5, isNumber: false },
];

/** A client of a service that has A-42 at one path, and whose counts of a path may be too slow. */
function clientOf(isSlow: (path: string) => boolean) {
  const dataOf = ({ query, variables }: Asked) => {
    if (query.includes('server')) return { server: { now: '2026-11-29T12:00:00Z' }, me: { mayViewPayloads: true } };
    if (query.includes('payloadPaths')) return { payloadPaths: PATHS };
    if (!query.includes('count(')) return { queue: null };
    const asked = JSON.stringify(variables);
    const path = asked.includes('customer.id') ? 'customer.id' : 'customer.ref';
    const isValue = path === 'customer.ref' && !asked.includes('customer A-42');
    return isSlow(path) ? null : { count: { count: isValue ? 3 : 0, exact: true } };
  };
  return createFakeClient({
    respond: (_call, body) => {
      const data = dataOf(body as Asked);
      return { status: 200, body: data === null ? { errors: [{ message: TOO_SLOW }], data } : { data } };
    },
  }).client;
}

it.each([
  ['no count is', () => false, 'customer.ref'],
  ['the count of the path that has the value is', (path: string) => path === 'customer.ref', 'customer.ref'],
  ['all counts are', () => true, 'customer.id'],
])('--filter takes words of people when %s too slow', async (_which, isSlow, path) => {
  const given = { queue: undefined, status: undefined, dead: false };
  const { filter } = await questionOf(clientOf(isSlow), { ...given, filter: 'customer A-42 created:>-1h' });
  expect(filter).toBe(`payload.${path}:A-42 created:>-1h`);
});

it('--filter finds a thing whose path is not among the 40 most frequent', async () => {
  const others = Array.from({ length: 52 }, (_, at) => ({ value: `meta.f${at}`, count: 99, isNumber: false }));
  const all = [...others, { value: 'buyer.vat', count: 7, isNumber: false }];
  const dataOf = ({ query, variables }: Asked & { variables: { first?: number } }) => {
    if (query.includes('server')) return { server: { now: '2026-11-29T12:00:00Z' }, me: { mayViewPayloads: true } };
    if (query.includes('payloadPaths')) return { payloadPaths: all.slice(0, variables.first) };
    if (!query.includes('count(')) return { queue: null };
    return { count: { count: JSON.stringify(variables).includes('"buyer.vat"') ? 3 : 0, exact: true } };
  };
  const respond = (_call: unknown, body: unknown) => ({ status: 200, body: { data: dataOf(body as Asked) } });
  const { filter } = await questionOf(createFakeClient({ respond }).client, {
    queue: undefined,
    status: undefined,
    dead: false,
    filter: 'failed buyer no. DE-815',
  });
  expect(filter).toBe('state:dead,retrying payload.buyer.vat:DE-815');
});
