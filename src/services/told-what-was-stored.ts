import { isUnavailable, unavailable } from '../domain/errors.ts';

const NOTHING = 'nothing was stored, try again';
/** How a caller finds out, or avoids the question. */
const UNKNOWN = {
  publish: 'it may have been stored: with an idempotencyKey it is safe to try again',
  other: 'it may have been stored: look before you try again',
};

/** Use cases that write, by name. Each stores something in its last statement only, or marks what follows by `afterCommit`. */
type Writes = Readonly<Record<string, (...input: never[]) => Promise<unknown>>>;

/**
 * A write whose `unavailable` says whether anything was stored (I-43).
 * @param write stores something in its last statement only, or marks what follows by `afterCommit`
 */
export function toldWhatWasStored<T extends object>(writes: T, advice: keyof typeof UNKNOWN = 'other'): T {
  const told = Object.entries(writes as Writes).map(([name, write]) => [
    name,
    (...input: never[]) => write(...input).catch((error: unknown) => refuse(error, UNKNOWN[advice])),
  ]);
  return Object.fromEntries(told) as T;
}

function refuse(error: unknown, advice: string): never {
  if (!isUnavailable(error)) throw error;
  const { message, stored, cause } = error;
  throw unavailable(`${message}; ${stored === 'nothing' ? NOTHING : advice}`, stored, cause);
}

/** For statements after the one that stored something: when they fail, it is there all the same. */
export function afterCommit(error: unknown): never {
  if (!isUnavailable(error)) throw error;
  throw unavailable(error.message, 'unknown', error.cause);
}
