import { request } from './client.ts';
import type { Operation } from './graphql.ts';

/** Mutations that take one id, and can be sent for several at once. */
export type ManyField = 'runNow' | 'cancelJob' | 'replayDeadLetter';

/** The server takes no more aliases in one request. */
export const MAX_MANY = 30;

interface ManyResult {
  [alias: string]: { message?: string };
}

/** One request with an alias for each id. Its text depends on their number, so it has no static type. */
export function manyText(field: ManyField, count: number): string {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const variables = numbers.map((n) => `$id${n}: ID!`).join(', ');
  const fields = numbers.map((n) => `m${n}: ${field}(id: $id${n}) { ... on Error { message } }`).join(' ');
  return `mutation Many(${variables}) { ${fields} }`;
}

/** Returns how many succeeded, and the first refusal. */
export async function requestMany(
  field: ManyField,
  ids: readonly string[],
): Promise<{ succeeded: number; refusal: string | null }> {
  const operation = { sources: new Set([manyText(field, ids.length)]) };
  const variables = Object.fromEntries(ids.map((id, n) => [`id${n}`, id]));
  const result = await request(operation as unknown as Operation<ManyResult, typeof variables>, variables);
  const refusals = Object.values(result).flatMap(({ message }) => message ?? []);
  return { succeeded: ids.length - refusals.length, refusal: refusals[0] ?? null };
}
