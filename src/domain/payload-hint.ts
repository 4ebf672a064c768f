import type { JobFilter, PayloadCondition } from './job-filter.ts';
import { ANY, formatPath, isIndex, type PathStep, parsePath, pathsOf, valuesAt } from './payload-path.ts';

type Test = Extract<PayloadCondition, { kind: 'test' }>;

/** Calls `visit` with each payload of a sample. The caller may let other work run between two calls. */
type EachPayload = (visit: (payload: unknown) => void) => Promise<void>;

/**
 * Returns why a payload condition may match nothing: a path that no sampled payload has, with the most similar path
 * that occurs, or a value of another type than those at the path. Null if there is no such reason, or nothing was
 * sampled.
 */
export async function payloadHint(payload: JobFilter['payload'], each: EachPayload): Promise<string | null> {
  return payload === undefined ? null : hintOf(payload, each);
}

async function hintOf(condition: PayloadCondition, each: EachPayload): Promise<string | null> {
  switch (condition.kind) {
    case 'test':
      // It matches where the path is missing.
      return condition.op === 'NEQ' ? null : hintOfTest(condition, each);
    case 'and': {
      for (const part of condition.of) {
        const hint = await hintOf(part, each);
        if (hint !== null) return hint;
      }
      return null;
    }
    case 'or': {
      let first: string | null = null;
      for (const part of condition.of) {
        const hint = await hintOf(part, each);
        // One that may match is enough.
        if (hint === null) return null;
        first ??= hint;
      }
      return first;
    }
    case 'not':
    case 'anywhere':
      return null;
  }
}

async function hintOfTest({ path, op, value }: Test, each: EachPayload): Promise<string | null> {
  const steps = parsePath(path);
  const types = new Set<string>();
  let payloads = 0;
  let isFound = false;
  await each((payload) => {
    payloads += 1;
    isFound ||= leadsTo(payload, steps);
    for (const found of valuesAt(payload, steps)) if (found !== null) types.add(typeof found);
  });
  if (payloads === 0) return null;
  if (!isFound) {
    const similar = await mostSimilar(path, each);
    return `no recent payload has the path ${path}${similar === null ? '' : `: did you mean ${similar}?`}`;
  }
  const [type] = types;
  if (!TYPED.has(op) || value === null || types.size !== 1 || type === undefined || type === typeof value) return null;
  return `in recent payloads ${path} is a ${NAMES[type]}, and the value of the condition is a ${NAMES[typeof value]}`;
}

/** Comparisons with values of the same type only. */
const TYPED: ReadonlySet<Test['op']> = new Set(['EQ', 'GT', 'LT']);

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
  return withoutBrackets(path.replace(/^\$\.?/, ''))
    .replace(/(^|\.)(\d+|\*|)(?=\.|$)/g, '$1#')
    .toLowerCase();
}

/** Writes `[0]`, `['name']` and `["name"]` as `.0` and `.name`. */
function withoutBrackets(path: string): string {
  const [start = '', ...parts] = path.split('[');
  const withDot = parts.map((part) => {
    const end = part.indexOf(']');
    const name = part.slice(0, Math.max(end, 0)).replace(/^['"]/, '').replace(/['"]$/, '');
    return end === -1 || /['"]/.test(name) ? `[${part}` : `.${name}${part.slice(end + 1)}`;
  });
  return start + withDot.join('');
}

/** How a path can be like the wanted one, both normalised; the most similar first. */
const LIKENESSES: ((one: string, wanted: string) => boolean)[] = [
  (one, wanted) => one === wanted,
  // An index that is missing, or one too many.
  (one, wanted) => one.replaceAll('.#', '') === wanted.replaceAll('.#', ''),
  (one, wanted) => one.endsWith(`.${wanted}`) || wanted.endsWith(`.${one}`),
  (one, wanted) => one.slice(one.lastIndexOf('.') + 1) === wanted.slice(wanted.lastIndexOf('.') + 1),
];

/** Paths beyond this number are not compared. */
const MAX_COMPARED = 10_000;

/** @returns the path that occurs most often of those that are most similar; null if none is */
async function mostSimilar(path: string, each: EachPayload): Promise<string | null> {
  const wanted = normalised(path);
  const known = new Map<string, { path: string; rank: number; count: number }>();
  await each((payload) => {
    for (const one of pathsOf(payload)) {
      const found = known.get(one);
      if (found !== undefined) found.count += 1;
      else if (known.size < MAX_COMPARED) {
        const form = normalised(one);
        known.set(one, { path: one, rank: LIKENESSES.findIndex((isLike) => isLike(form, wanted)), count: 1 });
      }
    }
  });
  let best: { path: string; rank: number; count: number } | null = null;
  for (const one of known.values()) {
    if (one.rank === -1) continue;
    if (best === null || one.rank < best.rank || (one.rank === best.rank && one.count > best.count)) best = one;
  }
  return best === null ? null : withAnyElement(best.path);
}

/** Suggested paths name the first element of an array, which stands for all. */
function withAnyElement(path: string): string {
  const steps = parsePath(path).map((step) => (typeof step === 'string' && isIndex(step) ? ANY : step));
  const any = formatPath(steps);
  return any === path ? path : `${path}, or ${any} for any element`;
}
