import type { JsonObject } from '../../../src/contract/verbatim-json.ts';

/**
 * Any object except those that JSON would not write as an object: arrays and other iterables, functions and dates. The
 * contract's `Record` would refuse payload types that are interfaces, because an interface has no index signature.
 */
export type PayloadObject =
  | JsonObject
  | (object & {
      readonly [Symbol.iterator]?: never;
      readonly [Symbol.hasInstance]?: never;
      readonly [Symbol.toPrimitive]?: never;
    });
