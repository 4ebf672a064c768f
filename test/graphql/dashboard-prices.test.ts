import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { Live } from '../../packages/dashboard/api/operations/live.ts';
import { endOfThen, SPANS, startOf } from '../../packages/dashboard/features/queues/model/timeline.ts';
import { QueuePage, QueueThen } from '../../packages/dashboard/features/queues/operations/queue.ts';
import { QueuesPage, QueueTimelines } from '../../packages/dashboard/features/queues/operations/queues.ts';
import { SOURCES } from '../../packages/query/export/sources.ts';
import { textOf } from '../../packages/query/schema/graphql.ts';
import { MAX_PRICE, priceOf } from '../../src/graphql/price.ts';
import { schema } from '../../src/graphql/schema.ts';

/** The dearest query of the dashboard is affordable, so that no account is too large for it. */

const now = Date.now();
const iso = (at: number) => new Date(at).toISOString();
const price = (document: Parameters<typeof textOf>[0], variableValues: object) =>
  priceOf({ schema, document: parse(textOf(document)), variableValues: { ...variableValues } });

describe('a page of queues', () => {
  it('are affordable with their last minutes', () => {
    expect(price(QueuesPage, { first: 90, order: 'TROUBLE', recent: iso(now - 20 * 60_000) })).toBeLessThan(MAX_PRICE);
  });

  it.each(SPANS)('are affordable with the bars of $label, half at a time of three days', (span) => {
    const variables = { from: iso(startOf(span, now)), bucket: span.bucketSeconds, hasDeaths: true, order: 'TROUBLE' };
    expect(price(QueueTimelines, { first: span.id === '3d' ? 45 : 90, ...variables })).toBeLessThan(MAX_PRICE);
  });

  it.each(SPANS)('are affordable with the bars of $label a day before', (span) => {
    const start = startOf(span, now - 86_400_000);
    const variables = { from: iso(start), to: iso(start + endOfThen(span)), bucket: span.bucketSeconds };
    const page = { first: span.id === '3d' ? 45 : 90, hasDeaths: false, order: 'TROUBLE' };
    expect(price(QueueTimelines, { ...page, ...variables })).toBeLessThan(MAX_PRICE);
  });

  it('are affordable on the live stream, with a hundred jobs', () => {
    const ids = Array.from({ length: 100 }, (_, n) => String(n).padStart(24, '0'));
    expect(price(Live, { watch: { queueIds: ids, jobIds: ids } })).toBeLessThan(MAX_PRICE);
  });
});

it.each([
  ['three hours', 3, 300],
  ['three days', 72, 3600],
])('a queue is affordable with charts of %s', (_label, hours, bucket) => {
  const variables = { name: 'q', from: iso(now - hours * 3_600_000), bucket, recent: iso(now - 1_200_000) };
  expect(price(QueuePage, { ...variables, hasRecent: bucket !== 300 })).toBeLessThan(MAX_PRICE / 4);
});

it('a queue is affordable with the lines of another day beside its charts', () => {
  const variables = { name: 'q', from: iso(now - 96 * 3_600_000), to: iso(now - 23 * 3_600_000), bucket: 3600 };
  expect(price(QueueThen, variables)).toBeLessThan(MAX_PRICE / 4);
});

it.each(Object.entries(SOURCES))('a page of the export of %s is affordable', (_name, { operation, size }) => {
  const filter = { payload: { path: 'a', value: 1 } };
  const variables = { filter: operation === SOURCES.attempts.operation ? {} : filter, by: 'ANSWER', payloads: true };
  expect(price(operation, { first: size, ...variables })).toBeLessThan(MAX_PRICE);
});
