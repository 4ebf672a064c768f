import type { Tally } from '../../src/telemetry/counts/tally.ts';

/** @returns a function that returns how often the tally has counted the key since */
export function countedSince(tally: Tally, key: string): () => number {
  const count = () => tally.entries().find(({ values }) => values.join('\t') === key)?.count ?? 0;
  const before = count();
  return () => count() - before;
}
