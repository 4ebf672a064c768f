import { afterAll } from 'vitest';

/** Ends of all that a test file has begun: servers, processes, databases. */
const begun = new Set<() => unknown>();

/**
 * Has `end` called when the test file is done, before whatever was registered earlier: processes end before their database.
 * @returns takes it back, because it has ended by itself
 */
export function atEndOfFile(end: () => unknown): () => void {
  begun.add(end);
  return () => void begun.delete(end);
}

/** An end that fails does not stop the others. */
export async function endFile(): Promise<void> {
  const errors: unknown[] = [];
  const ends = [...begun].reverse();
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
