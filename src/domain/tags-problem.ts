/** The form of tags, without the errors of the service: the client's fake checks it, too. */

const TAG_LIMITS = { count: 10, length: 32 } as const;
const FORM = /^[a-z0-9._-]{1,32}$/;

/** Returns what is wrong with tags; null if nothing is. */
export function tagsProblem(given: readonly string[]): string | null {
  const { count, length } = TAG_LIMITS;
  if (new Set(given).size > count) return `must be at most ${count} tags`;
  const wrong = given.find((tag) => !FORM.test(tag));
  const form = `must be 1 to ${length} of a-z, 0-9, -, _ and . each`;
  return wrong === undefined ? null : `${form}, which “${wrong.slice(0, length)}” is not`;
}
