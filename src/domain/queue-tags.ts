import { invalidField, JobferryError } from './errors.ts';

/** Words by which people and programs group queues. Beyond the spec (GraphQL). */

export const TAG_LIMITS = { count: 10, length: 32 } as const;
const FORM = /^[a-z0-9._-]{1,32}$/;

/** Queues by whose tags jobs are looked for. */
export const MAX_TAGGED = 100;

/** Returns each tag once, in alphabetical order. @throws JobferryError `invalid_fields` */
export function tagsIn(given: readonly string[]): string[] {
  const problem = tagsProblem(given);
  if (problem !== null) throw invalidField('tags', problem);
  return [...new Set(given)].sort();
}

/** Returns the tags of a filter. @throws JobferryError `invalid_request` */
export function tagsOfFilter(given: readonly string[]): string[] {
  const problem = tagsProblem(given);
  if (problem !== null) throw new JobferryError('invalid_request', `tags ${problem}`);
  return [...given];
}

/** Returns what is wrong with tags; null if nothing is. */
export function tagsProblem(given: readonly string[]): string | null {
  const { count, length } = TAG_LIMITS;
  if (new Set(given).size > count) return `must be at most ${count} tags`;
  const wrong = given.find((tag) => !FORM.test(tag));
  const form = `must be 1 to ${length} of a-z, 0-9, -, _ and . each`;
  return wrong === undefined ? null : `${form}, which “${wrong.slice(0, length)}” is not`;
}
