import { expect, it } from 'vitest';
import { AccountCounts } from '../../../src/telemetry/counts/account-counts.ts';
import { AccountSeries } from '../../../src/telemetry/metrics/account-series.ts';

function setUp(limit: number) {
  const counts = new AccountCounts();
  const series = new AccountSeries(counts, limit);
  const request = (account: string | null, code: string, times = 1) => {
    for (let n = 0; n < times; n += 1) counts.add(account, code);
  };
  const page = () => {
    series.update();
    return Object.fromEntries([...series.read()].map(([labels, count]) => [labels.join(' '), count]));
  };
  return { request, page };
}

it('the busiest accounts have series of their own, by code', () => {
  const { request, page } = setUp(2);
  request('small', '201', 2);
  request('loud', '404', 400);
  request('large', '201', 30);
  request('large', '503');
  request(null, '401', 5);
  expect(page()).toEqual({ 'loud 404': 400, 'large 201': 30, 'large 503': 1, 'other 201': 2, 'none 401': 5 });
});

it('an account that becomes busy takes the series of the least busy one, and no number goes down', () => {
  const { request, page } = setUp(2);
  request('a', '201', 100);
  request('b', '201', 20);
  request('c', '201', 15);
  expect(page()).toEqual({ 'a 201': 100, 'b 201': 20, 'other 201': 15 });
  // Nearly as busy as the least busy one.
  request('a', '201', 100);
  request('b', '201', 10);
  request('c', '201', 25);
  expect(page()).toEqual({ 'a 201': 200, 'b 201': 30, 'other 201': 40 });
  request('a', '201', 100);
  request('c', '404', 500);
  expect(page()).toEqual({ 'a 201': 300, 'c 404': 500, 'other 201': 40 });
  request('b', '201', 1);
  expect(page()).toEqual({ 'a 201': 300, 'c 404': 500, 'other 201': 41 });
});

it('all accounts are other if none may have series of its own', () => {
  const { request, page } = setUp(0);
  request('a', '201');
  request('b', '201');
  request(null, '200');
  expect(page()).toEqual({ 'other 201': 2, 'none 200': 1 });
});

it('counts very many accounts together while no page is made', () => {
  const { request, page } = setUp(1);
  for (let n = 0; n < 10_010; n += 1) request(`account-${n}`, '201');
  const { 'other 201': others, ...own } = page();
  expect([others, Object.values(own)]).toEqual([10_009, [1]]);
});
