import { isUnavailable, unavailable } from '../domain/errors.ts';

const NOTHING = 'nothing was stored, try again';
/** How to find out, or not to have to. */
const UNKNOWN = {
  publish: 'it may have been stored: with an idempotencyKey it is safe to try again',
  other: 'it may have been stored: look before you try again',
};

/**
 * A write whose `unavailable` says whether anything was stored (I-43).
 * @param write stores something in its last statement only, or marks what follows by `afterCommit`
 */
export function toldWhatWasStored<In extends unknown[], Out>(
  write: (...input: In) => Promise<Out>,
  advice: keyof typeof UNKNOWN = 'other',
): (...input: In) => Promise<Out> {
  return (...input) =>
    write(...input).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      const { message, stored, cause } = error;
      throw unavailable(`${message}; ${stored === 'nothing' ? NOTHING : UNKNOWN[advice]}`, stored, cause);
    });
}

/** For statements after the one that stored something: when they fail, it is there all the same. */
export function afterCommit(error: unknown): never {
  if (!isUnavailable(error)) throw error;
  throw unavailable(error.message, 'unknown', error.cause);
}
