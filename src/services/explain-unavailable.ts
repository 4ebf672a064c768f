import { isUnavailable, unavailable } from '../domain/errors.ts';

const NOTHING = 'nothing was stored, try again';
/** Advice for a client that cannot know whether its write was stored. */
const UNKNOWN = {
  publish: 'it may have been stored: with an idempotencyKey it is safe to try again',
  other: 'it may have been stored: check before you try again',
};

/**
 * Use cases that write, by name. Each stores something in its last statement only, or marks later statements by
 * `afterCommit`.
 */
type Writes = Readonly<Record<string, (...input: never[]) => Promise<unknown>>>;

/**
 * Returns the writes with `unavailable` errors that state whether anything was stored (I-43).
 * @param writes see `Writes`
 */
export function explainUnavailable<T extends object>(writes: T, advice: keyof typeof UNKNOWN = 'other'): T {
  const explained = Object.entries(writes as Writes).map(([name, write]) => [
    name,
    (...input: never[]) => write(...input).catch((error: unknown) => refuse(error, UNKNOWN[advice])),
  ]);
  return Object.fromEntries(explained) as T;
}

function refuse(error: unknown, advice: string): never {
  if (!isUnavailable(error)) throw error;
  const { message, stored, cause } = error;
  throw unavailable(`${message}; ${stored === 'nothing' ? NOTHING : advice}`, stored, cause);
}

/** For statements after the commit: when they fail, the write is stored nevertheless. */
export function afterCommit(error: unknown): never {
  if (!isUnavailable(error)) throw error;
  throw unavailable(error.message, 'unknown', error.cause);
}
