import { builder } from './builder.ts';

export const TimeRangeInput = builder.inputType('TimeRangeInput', {
  description: 'A range of time; both bounds are inclusive and optional, and `from` must not be after `to`.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'Lower bound.' }),
    to: t.field({ type: 'DateTime', description: 'Upper bound.' }),
  }),
});

export const IntRangeInput = builder.inputType('IntRangeInput', {
  description: 'A range of whole numbers; both bounds are inclusive and optional, and `min` must not be above `max`.',
  fields: (t) => ({
    min: t.int({ description: 'Lower bound.' }),
    max: t.int({ description: 'Upper bound.' }),
  }),
});

export type Nullable<T> = { [K in keyof T]?: T[K] | null | undefined };
type GivenRange = { from?: Date | null | undefined; to?: Date | null | undefined } | null | undefined;

/** Removes members that are not given. In GraphQL they are undefined or null, in the domain undefined. */
export function given<T extends object>(fields: Nullable<T>): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as T;
}

export function range(times: GivenRange) {
  return times == null ? undefined : { from: times.from ?? undefined, to: times.to ?? undefined };
}

export function bounds(
  numbers: { min?: number | null | undefined; max?: number | null | undefined } | null | undefined,
) {
  return numbers == null ? undefined : { min: numbers.min ?? undefined, max: numbers.max ?? undefined };
}
