import { VerbatimJson } from '../../../src/contract/verbatim-json.ts';

/** Checks for mistakes of a program that no answer would name. They cost time, so production does without them. */
export function checksForMistakes(): boolean {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env !== undefined && process.env.NODE_ENV !== 'production';
}

/** JSON writes these as `{}`, whatever they contain. */
const LOST = [Map, Set, Promise];

/**
 * Types cannot refuse such a member: a payload may have any type, also an interface, which has no index signature.
 * @throws TypeError outside production, for a payload that would arrive without a part of it
 */
export function refuseLostParts(payload: unknown): void {
  if (!checksForMistakes()) return;
  // Not by JSON.stringify, which throws for some thousand levels.
  // Whether a payload has too many is for the service to say.
  const seen = new Set<unknown>();
  const waiting: [name: string, value: unknown][] = [['', payload]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, given] = next;
    const value = asWritten(given, name);
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    const lost = LOST.find((kind) => value instanceof kind);
    if (lost !== undefined) {
      throw new TypeError(
        `${name === '' ? 'the payload' : `${name} in the payload`} is a ${lost.name}, which JSON writes as {}`,
      );
    }
    for (const member of Object.entries(value)) waiting.push(member);
  }
}

/** Returns what JSON writes in place of the value. The text of a `VerbatimJson` has all its parts. */
function asWritten(value: unknown, name: string): unknown {
  if (value instanceof VerbatimJson) return null;
  const { toJSON } = Object(value) as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value, name) : value;
}
