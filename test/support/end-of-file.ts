import { afterAll } from 'vitest';

/** The ends of all that a test file has begun: servers, processes, databases. */
const begun = new Set<() => unknown>();
/** Ends of what a service may wait for when it stops: its receivers. */
const awaited = new Set<() => unknown>();

/**
 * Has `end` called when the test file is done, before whatever was registered earlier:
 * processes end before their database.
 * @param isAwaited services wait for it when they stop, so it ends before them
 * @returns takes it back, because it has ended by itself
 */
export function atEndOfFile(end: () => unknown, { isAwaited = false } = {}): () => void {
  const set = isAwaited ? awaited : begun;
  set.add(end);
  return () => void set.delete(end);
}

/** An end that fails does not stop the others. */
export async function endFile(): Promise<void> {
  const errors: unknown[] = [];
  const ends = [...awaited, ...[...begun].reverse()];
  awaited.clear();
  begun.clear();
  for (const end of ends) {
    try {
      await end();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

// For the file that loads this module. In a process that files share, each of them loads support/shared-process.ts.
afterAll(endFile);
