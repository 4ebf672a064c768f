import { describe, expect, it } from 'vitest';
import { QueueCounts } from '../../../src/telemetry/counts/queue-counts.ts';
import { QueueSeries } from '../../../src/telemetry/metrics/queue-series.ts';

const named = (...ids: string[]) => ids.map((id) => ({ id, accountId: 'account', name: `name of ${id}` }));

function setUp() {
  const counts = new QueueCounts();
  const series = new QueueSeries(counts);
  return { counts, series, read: () => Object.fromEntries([...series.read('dead')].map(([k, n]) => [k.join('/'), n])) };
}

describe('series by queue', () => {
  it('show what was counted before the first page, too', () => {
    const { counts, series, read } = setUp();
    counts.add('a', 'dead', 'nacked');
    counts.add('b', 'dead', 'nacked');
    counts.add('b', 'dead', 'cancelled');
    counts.add('b', 'dead', 'cancelled');
    counts.add('b', 'holds', 'deferred');
    series.update(named('a'));
    expect(read()).toEqual({
      'account/name of a/nacked': 1,
      'other/other/nacked': 1,
      'other/other/cancelled': 2,
    });
  });

  it('never go down: what was other stays other when its queue gets series of its own', () => {
    const { counts, series, read } = setUp();
    counts.add('a', 'dead', 'nacked');
    series.update(named());
    counts.add('a', 'dead', 'nacked');
    series.update(named('a'));
    expect(read()).toEqual({ 'other/other/nacked': 1, 'account/name of a/nacked': 1 });
  });

  it('the series of a deleted queue disappear', () => {
    const { counts, series, read } = setUp();
    counts.add('a', 'dead', 'nacked');
    series.update(named('a'));
    series.update(named('b'));
    expect(read()).toEqual({});
  });

  it('wait for the names of new queues while the database is silent', () => {
    const { counts, series, read } = setUp();
    series.update(named('a'));
    counts.add('a', 'dead', 'nacked');
    counts.add('b', 'dead', 'nacked');
    series.update(null);
    expect(read()).toEqual({ 'account/name of a/nacked': 1 });
    series.update(named('a', 'b'));
    expect(read()).toEqual({ 'account/name of a/nacked': 1, 'account/name of b/nacked': 1 });
  });

  it('count queues together when no page is made for very many of them', () => {
    const { counts, series, read } = setUp();
    const ids = Array.from({ length: 10_010 }, (_, n) => `queue-${n}`);
    for (const id of ids) counts.add(id, 'dead', 'nacked');
    series.update(named(...ids));
    expect(Object.keys(read())).toHaveLength(10_001);
    expect(read()['other/other/nacked']).toBe(10);
  });
});
