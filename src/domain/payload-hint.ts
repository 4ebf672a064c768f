import type { JobFilter, PayloadCondition } from './job-filter.ts';
import { ANY, formatPath, isIndex, type PathStep, parsePath, pathsOf, valuesAt } from './payload-path.ts';

type Test = Extract<PayloadCondition, { kind: 'test' }>;

/**
 * Returns why a payload condition may match nothing: a path that no sampled payload has, with the most similar path that
 * occurs, or a value of another type than those at the path. Null if there is no such reason, or nothing was sampled.
 */
export function payloadHint(payload: JobFilter['payload'], sample: readonly unknown[]): string | null {
  if (payload === undefined || sample.length === 0) return null;
  for (const test of requiredTests(payload)) {
    const hint = hintOf(test, sample);
    if (hint !== null) return hint;
  }
  return null;
}

/** The tests that a payload must pass, or one of which it must pass. A negated condition matches where a path is missing. */
function requiredTests(condition: PayloadCondition): Test[] {
  switch (condition.kind) {
    case 'test':
      return condition.op === 'NEQ' ? [] : [condition];
    case 'and':
    case 'or':
      return condition.of.flatMap(requiredTests);
    case 'not':
    case 'anywhere':
      return [];
  }
}

function hintOf({ path, op, value }: Test, sample: readonly unknown[]): string | null {
  const steps = parsePath(path);
  const values = sample.flatMap((payload) => valuesAt(payload, steps));
  if (values.length > 0) {
    if (op !== 'EQ' || value === null) return null;
    const types = new Set(values.filter((found) => found !== null).map((found) => typeof found));
    const [type] = types;
    if (types.size !== 1 || type === undefined || type === typeof value) return null;
    return `in recent payloads ${path} is a ${NAMES[type]}, and the value of the condition is a ${NAMES[typeof value]}`;
  }
  if (sample.some((payload) => leadsTo(payload, steps))) return null;
  const similar = mostSimilar(path, sample);
  return `no recent payload has the path ${path}${similar === null ? '' : `: did you mean ${similar}?`}`;
}

const NAMES: Record<string, string> = { string: 'text', number: 'number', boolean: 'boolean' };

/** Whether a payload has the path, whatever is there. */
function leadsTo(payload: unknown, steps: readonly PathStep[]): boolean {
  let found = [payload];
  for (const step of steps) {
    found = found.flatMap((value) => {
      if (typeof value !== 'object' || value === null) return [];
      if (step === ANY) return Array.isArray(value) ? (value as unknown[]) : [];
      if (!Object.hasOwn(value, step) || (Array.isArray(value) && !isIndex(step))) return [];
      return [(value as Record<string, unknown>)[step]];
    });
  }
  return found.length > 0;
}

/** Other notations of a path, such as `$.Items[0].sku`, in one form. */
function normalised(path: string): string {
  return path
    .replace(/^\$\.?/, '')
    .replace(/\[['"]?([^\]'"]*)['"]?\]/g, '.$1')
    .replace(/(^|\.)(\d+|\*|)(?=\.|$)/g, '$1#')
    .toLowerCase();
}

/** @returns the path that occurs most often of those that are most similar; null if none is */
function mostSimilar(path: string, sample: readonly unknown[]): string | null {
  const counts = new Map<string, number>();
  for (const payload of sample) for (const one of pathsOf(payload)) counts.set(one, (counts.get(one) ?? 0) + 1);
  const wanted = normalised(path);
  const isLike: ((one: string) => boolean)[] = [
    (one) => one === wanted,
    // An index that is missing, or one too many.
    (one) => one.replaceAll('.#', '') === wanted.replaceAll('.#', ''),
    (one) => one.endsWith(`.${wanted}`) || wanted.endsWith(`.${one}`),
    (one) => one.slice(one.lastIndexOf('.') + 1) === wanted.slice(wanted.lastIndexOf('.') + 1),
  ];
  for (const test of isLike) {
    const [best] = [...counts].filter(([one]) => test(normalised(one))).sort(([, one], [, other]) => other - one);
    if (best !== undefined) return withAnyElement(best[0]);
  }
  return null;
}

/** Suggested paths name the first element of an array, which stands for all. */
function withAnyElement(path: string): string {
  const steps = parsePath(path).map((step) => (typeof step === 'string' && isIndex(step) ? ANY : step));
  const any = formatPath(steps);
  return any === path ? path : `${path}, or ${any} for any element`;
}
