/** A strict parser of the text formats of Prometheus: what it accepts, every scraper accepts. */

export interface MetricSample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  type: string;
  help: string;
  samples: MetricSample[];
}

const METRIC = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
/** A label with its value, in which only backslash, quote and line feed are escaped. */
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=[a-zA-Z_])|$)/;
const VALUE = /^(?:NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const ENDINGS: Record<string, readonly string[]> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
};

/**
 * @returns the families of a page by the name of their samples' type
 * @throws Error for everything that the format forbids
 */
export function parsePage(text: string, format: 'prometheus' | 'openmetrics'): Map<string, Family> {
  const open = format === 'openmetrics';
  if (open && !text.endsWith('\n# EOF\n')) throw new Error('the page does not end with # EOF');
  if (!text.endsWith('\n')) throw new Error('the last line is not ended');
  const families = new Map<string, Family>();
  const series = new Set<string>();
  let current: { name: string; family: Family } | null = null;
  for (const line of text
    .slice(0, open ? -'# EOF\n'.length : undefined)
    .split('\n')
    .slice(0, -1)) {
    const fail = (why: string) => new Error(`${why}: ${line}`);
    if (line === '') {
      if (open) throw fail('an empty line');
      continue;
    }
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (comment !== null) {
      const [, what, name = '', rest = ''] = comment;
      if (!METRIC.test(name)) throw fail('not a name');
      if (what === 'HELP') {
        if (families.has(name)) throw fail('a second family of this name');
        if (/\\[^\\n"]/.test(rest) || (open && /(?<!\\)"/.test(rest))) throw fail('not escaped');
        current = { name, family: { type: '', help: rest, samples: [] } };
        families.set(name, current.family);
      } else {
        if (current?.name !== name || current.family.type !== '') throw fail('a type without its help before it');
        if (!['counter', 'gauge', 'histogram', 'summary'].includes(rest)) throw fail('an unknown type');
        current.family.type = rest;
      }
      continue;
    }
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
    if (name === '' || current === null || current.family.type === '') throw fail('not a sample of a family');
    const { type, samples } = current.family;
    const endings = type === 'counter' && open ? ['_total'] : (ENDINGS[type] ?? ['']);
    if (!endings.some((ending) => name === current?.name + ending)) throw fail('not a sample of this family');
    if (type === 'counter' && !name.endsWith('_total')) throw fail('a counter that does not end in _total');
    if (!VALUE.test(value)) throw fail('not a number');
    const sample = { name, labels: parseLabels(labels, fail), value: Number(value.replace('Inf', 'Infinity')) };
    if (type === 'counter' && !(sample.value >= 0)) throw fail('a counter below 0');
    const key = `${name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (series.has(key)) throw fail('a second sample of a series');
    series.add(key);
    samples.push(sample);
  }
  for (const [name, { type, samples }] of families) if (type === 'histogram') checkHistograms(name, samples);
  return families;
}

function parseLabels(text: string, fail: (why: string) => Error): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const [whole = '', name = '', value = ''] = LABEL.exec(rest) ?? [];
    if (whole === '' || Object.hasOwn(labels, name)) throw fail('wrong labels');
    labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped));
    rest = rest.slice(whole.length);
  }
  return labels;
}

/** Each has buckets that grow up to +Inf, which is its count, and a sum. */
function checkHistograms(name: string, samples: readonly MetricSample[]): void {
  const by = new Map<string, MetricSample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    by.set(key, [...(by.get(key) ?? []), sample]);
  }
  for (const [key, own] of by) {
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number(labels.le?.replace('Inf', 'Infinity')));
    const counts = buckets.map(({ value }) => value);
    const isGrowing = (numbers: readonly number[]) => numbers.every((n, i) => i === 0 || n >= (numbers[i - 1] ?? 0));
    const count = own.find((sample) => sample.name === `${name}_count`)?.value;
    const hasSum = own.some((sample) => sample.name === `${name}_sum`);
    const isWhole = bounds.at(-1) === Number.POSITIVE_INFINITY && counts.at(-1) === count && hasSum;
    if (!isWhole || !isGrowing(bounds) || !isGrowing(counts)) throw new Error(`wrong histogram ${name} ${key}`);
  }
}

/** @returns the sum of the samples with this name and these labels */
export function sumOf(
  pages: readonly Map<string, Family>[],
  name: string,
  labels: Record<string, string> = {},
): number {
  return samplesOf(pages, name, labels).reduce((sum, { value }) => sum + value, 0);
}

export function samplesOf(
  pages: readonly Map<string, Family>[],
  name: string,
  labels: Record<string, string> = {},
): MetricSample[] {
  return pages
    .flatMap((page) => [...page.values()].flatMap(({ samples }) => samples))
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value));
}
