import type { JsonObject } from '../contract/verbatim-json.ts';

/**
 * Any object but an array, or another collection that would not be the object that it looks like. An interface
 * has no index signature, so the contract's `Record` would refuse most people's payload types.
 */
export type PayloadObject = JsonObject | (object & { readonly [Symbol.iterator]?: never });
