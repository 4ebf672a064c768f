import { Counter, collectDefaultMetrics, Gauge, Histogram, type MetricType, Registry } from 'prom-client';
import type { Distribution } from '../counts/distribution.ts';
import type { Format } from './accept.ts';

/** A line of the page: values of the labels in their order, and the number. */
export type Sample = readonly [labels: readonly string[], value: number];
/** The lines of a histogram. */
export type Buckets = readonly [labels: readonly string[], distribution: Distribution];

/** A metric whose numbers are somewhere else, and are read when a page is made. */
export type Definition = {
  name: string;
  /** Without quotes: OpenMetrics escapes them, Prometheus' text does not. */
  help: string;
  labels?: readonly string[];
} & ({ type: 'counter' | 'gauge'; read(): Iterable<Sample> } | { type: 'histogram'; read(): Iterable<Buckets> });

interface Line {
  metricName?: string;
  labels: Record<string, string | number>;
  value: number;
}

/** Gauges of the library whose names are those of counters. Each is the sum of the metric without `_total`. */
const MISNAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

const TYPES = { counter: Counter, gauge: Gauge, histogram: Histogram };

/** A page of metrics in one format. */
export interface Renderer {
  readonly contentType: string;
  render(): Promise<string>;
}

/**
 * Renders metrics in one format, with the library's metrics of the process. Each format has a registry of its own,
 * because the library renames counters for OpenMetrics in place.
 */
export function createRenderer(format: Format, definitions: readonly Definition[]): Renderer {
  const type = format === 'openmetrics' ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE;
  const registry = new Registry();
  (registry as Registry<typeof type>).setContentType(type);
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  for (const definition of definitions) add(registry, definition);
  return {
    contentType: type,
    // The library writes `Nan`, which neither format knows. A value is the end of its line, and no help ends with it.
    render: async () => (await registry.metrics()).replaceAll(/ Nan$/gm, ' NaN'),
  };
}

/** The library's own counters take a microsecond for each event, so they only name what this object reads. */
function add(registry: Registry, definition: Definition): void {
  const { name, help, type, labels = [] } = definition;
  const metric = new TYPES[type]({ name, help, labelNames: [...labels], registers: [registry] });
  const get = async () => ({
    // Not the name above: OpenMetrics names counters without `_total`.
    name: (metric as unknown as { name: string }).name,
    help,
    type: type as unknown as MetricType,
    aggregator: 'sum' as const,
    values: definition.type === 'histogram' ? histogramLines(definition) : lines(definition),
  });
  Object.assign(metric, { get, getForPromString: get });
}

function lines({ labels = [], read }: Extract<Definition, { type: 'counter' | 'gauge' }>): Line[] {
  return Array.from(read(), ([values, value]) => ({ labels: labelled(labels, values), value }));
}

function histogramLines({ name, labels = [], read }: Extract<Definition, { type: 'histogram' }>): Line[] {
  return Array.from(read()).flatMap(([values, { bounds, counts, sum }]) => {
    const own = labelled(labels, values);
    let total = 0;
    const buckets = counts.map((count, n): Line => {
      total += count;
      return { metricName: `${name}_bucket`, labels: { ...own, le: bounds[n] ?? '+Inf' }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: own, value: sum },
      { metricName: `${name}_count`, labels: own, value: total },
    ];
  });
}

function labelled(labels: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(labels.map((label, n) => [label, values[n] ?? '']));
}
