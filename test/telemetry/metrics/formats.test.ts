import { describe, expect, it } from 'vitest';
import { Distribution } from '../../../src/telemetry/counts/distribution.ts';
import { formatFor } from '../../../src/telemetry/metrics/accept.ts';
import { createRenderer, type Definition } from '../../../src/telemetry/metrics/registry.ts';
import { parsePage, samplesOf } from '../../support/metrics-page.ts';

describe('the format', () => {
  it.each([
    [undefined, 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/plain', 'prometheus'],
    ['text/html,application/xhtml+xml', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    [
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'openmetrics',
    ],
    ['application/openmetrics-text; version=1.0.0; escaping=allow-utf-8; q=0.5, text/plain; q=0.4', 'openmetrics'],
    ['application/openmetrics-text;q=0.2,text/plain;q=0.5', 'prometheus'],
    ['application/openmetrics-text;q=0,*/*;q=0.1', 'prometheus'],
    ['application/openmetrics-text;q=no', 'prometheus'],
  ])('the format for Accept: %s is %s', (accept, format) => {
    expect(formatFor(accept)).toBe(format);
  });
});

const waits = new Distribution([0.1, 1]);
for (const seconds of [0.1, 0.5, 7]) waits.observe(seconds);
const DEFINITIONS: Definition[] = [
  { name: 'own_events_total', help: 'Events.', type: 'counter', labels: ['queue'], read: () => [[['a"b\\c\nd'], 3]] },
  { name: 'own_state', help: 'A state.', type: 'gauge', read: () => [[[], 1.5]] },
  { name: 'own_wait_seconds', help: 'Waits.', type: 'histogram', labels: ['pool'], read: () => [[['main'], waits]] },
  { name: 'own_nothing_total', help: 'Nothing.', type: 'counter', labels: ['queue'], read: () => [] },
];

describe.each(['prometheus', 'openmetrics'] as const)('a page of %s', (format) => {
  it('can be parsed, again and again', async () => {
    const renderer = createRenderer(format, DEFINITIONS);
    for (let round = 0; round < 2; round += 1) {
      const page = [parsePage(await renderer.render(), format)];
      expect(samplesOf(page, 'own_events_total')).toEqual([
        { name: 'own_events_total', labels: { queue: 'a"b\\c\nd' }, value: 3 },
      ]);
      expect(samplesOf(page, 'own_state')).toMatchObject([{ labels: {}, value: 1.5 }]);
      const buckets = samplesOf(page, 'own_wait_seconds_bucket', { pool: 'main' });
      expect(buckets.map(({ labels, value }) => [labels.le, value])).toEqual([
        ['0.1', 1],
        ['1', 2],
        ['+Inf', 3],
      ]);
      expect(samplesOf(page, 'own_wait_seconds_sum')).toMatchObject([{ value: 7.6 }]);
      expect(samplesOf(page, 'nodejs_eventloop_lag_p99_seconds')).toHaveLength(1);
    }
  });

  it('has no gauge with the name of a counter', async () => {
    const text = await createRenderer(format, DEFINITIONS).render();
    expect(text.match(/^# TYPE \S+_total gauge$/gm)).toBe(null);
    expect(text).toMatch(/^# TYPE nodejs_active_resources gauge$/m);
  });

  it('has names that do not depend on which format was made before', async () => {
    const other = createRenderer(format === 'prometheus' ? 'openmetrics' : 'prometheus', DEFINITIONS);
    await other.render();
    const text = await createRenderer(format, DEFINITIONS).render();
    expect(text).toContain(`# TYPE own_events${format === 'prometheus' ? '_total' : ''} counter`);
  });
});

describe('the strict parser', () => {
  const HEAD = '# HELP a_total A.\n# TYPE a_total counter\n';
  it.each([
    ['a sample without a family', 'a_total 1\n'],
    ['a type without a help', '# TYPE a_total counter\na_total 1\n'],
    ['a sample of another family', `${HEAD}b_total 1\n`],
    ['a series twice', `${HEAD}a_total{x="1"} 1\na_total{x="1"} 2\n`],
    ['a family twice', `${HEAD}a_total 1\n${HEAD}`],
    ['a quote that is not escaped', `${HEAD}a_total{x="a"b"} 1\n`],
    ['a label twice', `${HEAD}a_total{x="1",x="1"} 1\n`],
    ['what is no number', `${HEAD}a_total undefined\n`],
    ['a counter below 0', `${HEAD}a_total -1\n`],
    ['a counter without _total', '# HELP a A.\n# TYPE a counter\na 1\n'],
    ['a last line without its end', `${HEAD}a_total 1`],
    ['a histogram whose buckets shrink', histogram([3, 2, 2])],
    ['a histogram that does not end with its count', histogram([1, 2, 4])],
  ])('refuses %s', (_, text) => {
    expect(() => parsePage(text, 'prometheus')).toThrow();
  });

  it('accepts what is right', () => {
    expect(parsePage(histogram([1, 2, 2]), 'prometheus').get('h')?.samples).toHaveLength(5);
    expect(() => parsePage(`${HEAD}a_total 1\n`, 'openmetrics')).toThrow('EOF');
  });
});

function histogram([a, b, c]: number[]): string {
  const buckets = `h_bucket{le="1"} ${a}\nh_bucket{le="2"} ${b}\nh_bucket{le="+Inf"} ${c}\n`;
  return `# HELP h H.\n# TYPE h histogram\n${buckets}h_sum 3\nh_count 2\n`;
}
