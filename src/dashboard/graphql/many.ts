import { request } from './client.ts';
import type { Operation } from './graphql.ts';
import { type ManyField, manyText } from './many-text.ts';

interface ManyResult {
  [alias: string]: { message?: string };
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
