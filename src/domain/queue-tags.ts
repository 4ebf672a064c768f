import { invalidField, JobferryError } from './errors.ts';
import { tagsProblem } from './tags-problem.ts';

/** Words by which people and programs group queues. Beyond the spec (GraphQL). */

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
