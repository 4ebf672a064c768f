import { expect, it } from 'vitest';
import { contract, ignoredIn } from '../../src/contract/index.ts';

const { jobs, queues } = contract;

it.each([
  ['scheduledFor', 'scheduledFor (did you mean delay?)'],
  ['idempotencykey', 'idempotencykey (did you mean idempotencyKey?)'],
  ['idempotency_key', 'idempotency_key (did you mean idempotencyKey?)'],
  ['dealy', 'dealy (did you mean delay?)'],
  ['colour', 'colour'],
  ['toString', 'toString'],
  ['__proto__x', '__proto__x'],
  ['a,b (c)\r\n\u{1F600}', 'a?b??c?????'],
  ['x'.repeat(1000), 'x'.repeat(40)],
])('names the unknown member %j of a publish', (name, text) => {
  expect(ignoredIn(jobs.publish, { query: {}, body: { payload: {}, [name]: 1 } })).toBe(text);
});

it('names five members, and counts the others', () => {
  const body = Object.fromEntries([...'abcdefgh'].map((name) => [name, 1]));
  expect(ignoredIn(jobs.publish, { query: {}, body })).toBe('a, b, c, d, e, and 3 more');
});

it('compares only the names that it shows', () => {
  const name = 'n'.repeat(35);
  const body = Object.fromEntries(Array.from({ length: 400_000 }, (_, n) => [`${name}${n}`, 1]));
  // Comparing all of them took more than a minute; those of a body of 1 MiB, five seconds.
  expect(ignoredIn(queues.update, { query: {}, body })).toMatch(/, and 399995 more$/);
});

it('names unknown query parameters', () => {
  expect(ignoredIn(jobs.list, { query: { page: '1', stauts: 'dead' }, body: undefined })).toBe(
    'stauts (did you mean status?)',
  );
  expect(ignoredIn(queues.update, { query: {}, body: { url: 'x', rateLimit: 1 } })).toBe(
    'url (did you mean webhookUrl?), rateLimit (did you mean rateLimitMax?)',
  );
  expect(ignoredIn(jobs.publish, { query: { delay: '1' }, body: { payload: {} } })).toBe('delay');
});

it('finds nothing in what the routes have', () => {
  expect(
    ignoredIn(jobs.publish, { query: {}, body: { payload: { any: 1 }, delay: 1, idempotencyKey: 'k' } }),
  ).toBeNull();
  expect(ignoredIn(jobs.ack, { query: {}, body: { attempt: 1 } })).toBeNull();
  expect(ignoredIn(queues.create, { query: {}, body: { name: 'a', webhookUrl: 'b', template: 'c' } })).toBeNull();
});

it('takes a whole queue for its change', () => {
  const queue = { id: '1', name: 'a', createdAt: 'x', signingSecret: 's', concurrency: 1 };
  expect(ignoredIn(queues.update, { query: {}, body: queue })).toBeNull();
  expect(ignoredIn(queues.update, { query: {}, body: { ...queue, concurency: 2 } })).toBe(
    'concurency (did you mean concurrency?)',
  );
});

it.each([[null], [undefined], ['text'], [[1, 2]], [7]])('names nothing for the body %j', (body) => {
  expect(ignoredIn(jobs.publish, { query: {}, body })).toBeNull();
});
