import { JobferryError } from './errors.ts';
import { FILTER_LIMITS, type JsonScalar } from './job-filter.ts';
import { isStorableText } from './text.ts';

/** In a path: any element of an array. */
export const ANY = Symbol('any element');
export type PathStep = string | typeof ANY;

/**
 * Splits a path into its steps, outermost first: `items.0.sku` has three. A backslash escapes a dot, a backslash or a
 * `*` within a name.
 * @throws JobferryError `invalid_request`
 */
export function parsePath(path: string): PathStep[] {
  if (path === '') throw invalid('a payload condition needs a path');
  if (path.length > FILTER_LIMITS.payloadPathLength) {
    throw invalid(`a payload path has at most ${FILTER_LIMITS.payloadPathLength} characters`);
  }
  if (!isStorableText(path)) throw invalid('a payload path must not contain NUL or lone surrogates');
  const names: PathStep[] = [];
  let name = '';
  let isEscaped = false;
  const end = () => {
    if (name === '') throw invalid(`the payload path ${path} has an empty name`);
    names.push(name === '*' && !isEscaped ? ANY : name);
    name = '';
    isEscaped = false;
  };
  for (let at = 0; at < path.length; at += 1) {
    const character = path.charAt(at);
    if (character === '.') {
      end();
    } else if (character === '\\') {
      at += 1;
      const escaped = path.charAt(at);
      if (escaped !== '.' && escaped !== '\\' && escaped !== '*') {
        throw invalid(`in the payload path ${path}, a backslash must be followed by a dot, a * or another backslash`);
      }
      isEscaped = true;
      name += escaped;
    } else {
      name += character;
    }
  }
  end();
  return names;
}

export function formatPath(names: readonly PathStep[]): string {
  return names.map((name) => (name === ANY ? '*' : name === '*' ? '\\*' : name.replace(/[.\\]/g, '\\$&'))).join('.');
}

/** Whether a name can also be the index of an array element. */
export function isIndex(name: string): boolean {
  return /^(0|[1-9]\d*)$/.test(name);
}

/** Bounds on the part of one payload that suggestions are taken from. */
const MAX_DEPTH = 6;
const MAX_PATHS = 100;

/**
 * Returns the paths of a payload's values that a condition can test, each once. The first element of an array
 * stands for all its elements. The path of the array itself is included if it has elements that `CONTAINS` can
 * test.
 */
export function pathsOf(payload: unknown): string[] {
  const paths: string[] = [];
  const visit = (value: unknown, names: readonly string[]) => {
    if (paths.length >= MAX_PATHS) return;
    const path = formatPath(names);
    // The paths of its members are longer still.
    if (path.length > FILTER_LIMITS.payloadPathLength) return;
    const listed = Array.isArray(value) ? value.some(isScalar) : isScalar(value);
    if (names.length > 0 && listed && isStorableText(path)) paths.push(path);
    if (names.length === MAX_DEPTH || typeof value !== 'object' || value === null) return;
    const members: [string, unknown][] = Array.isArray(value) ? [['0', value[0]]] : Object.entries(value);
    for (const [name, member] of members) if (name !== '') visit(member, [...names, name]);
  };
  visit(payload, []);
  return paths;
}

/**
 * Returns the values at a path that a condition can compare with: the value, or the elements of an array, each once.
 */
export function valuesAt(payload: unknown, names: readonly PathStep[]): JsonScalar[] {
  let found: unknown[] = [payload];
  for (const name of names) found = found.flatMap((value) => membersOf(value, name)).slice(0, MAX_PATHS);
  const listed = found.flatMap((value) => (Array.isArray(value) ? (value.slice(0, MAX_PATHS) as unknown[]) : [value]));
  return [...new Set(listed.slice(0, MAX_PATHS).filter(isScalar))];
}

function membersOf(value: unknown, name: PathStep): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (name === ANY) return Array.isArray(value) ? (value.slice(0, MAX_PATHS) as unknown[]) : [];
  if (!Object.hasOwn(value, name) || (Array.isArray(value) && !isIndex(name))) return [];
  return [(value as Record<string, unknown>)[name]];
}

function isScalar(value: unknown): value is JsonScalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
