import type { JsonObject } from '../contract/verbatim-json.ts';

/**
 * Any object except arrays and other iterables, which JSON would not write as the object. The contract's `Record` would
 * refuse payload types that are interfaces, because an interface has no index signature.
 */
export type PayloadObject = JsonObject | (object & { readonly [Symbol.iterator]?: never });
