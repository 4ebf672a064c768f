import { z } from 'zod';
import { LIMITS } from '../domain/queue.ts';
import { onWire } from './documentation.ts';
import { lean } from './lean.ts';

/**
 * Defines a query parameter. Its value is a text, or an array if the parameter is repeated, which is refused.
 * `Input` is the type that a typed client may pass.
 */
function queryValue<Output, Input>(
  read: (text: string) => Output | undefined,
  expected: string,
): z.ZodType<Output, z.ZodTypeDef, Input> {
  const schema = lean(
    z.unknown().transform((value, context): Output => {
      const output = typeof value === 'string' ? read(value) : undefined;
      if (output !== undefined) return output;
      const message = Array.isArray(value) ? 'must be given once' : expected;
      context.addIssue({ code: z.ZodIssueCode.custom, message });
      return z.NEVER;
    }),
  );
  return schema as z.ZodType<Output, z.ZodTypeDef, unknown> as z.ZodType<Output, z.ZodTypeDef, Input>;
}

/** @param fallback the value of an absent parameter */
function wholeNumber(bounds: { readonly min: number; readonly max: number }, fallback: number, description: string) {
  const value = queryValue<number, number | string>((text) => {
    if (!/^[0-9]+$/.test(text)) return undefined;
    const number = Number(text);
    return number >= bounds.min && number <= bounds.max ? number : undefined;
  }, `must be a whole number from ${bounds.min} to ${bounds.max}`);
  return onWire(value.default(String(fallback)), {
    type: 'integer',
    minimum: bounds.min,
    maximum: bounds.max,
    default: fallback,
    description,
  });
}

const DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})T(?<time>\d{2}:\d{2}:\d{2})(?:\.\d+)?(?:Z|[+-](?<offset>\d{2}:\d{2}))$/;

/**
 * Parses a strict RFC 3339 date-time. `Date` alone accepts `0` as the year 2000 and 30 February as 2 March, and
 * PostgreSQL accepts `infinity`. A plain date is refused, because it has no time zone.
 */
export function parseDateTime(text: string): Date | undefined {
  const { year, month, day, time = '', offset = '00:00' } = DATE_TIME.exec(text)?.groups ?? {};
  if (year === undefined || !isClockTime(time) || !isClockTime(`${offset}:00`)) return undefined;
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.getUTCDate() !== Number(day)) return undefined;
  const date = new Date(text);
  // An offset can move the last day of 9999 into a year that ISO 8601 writes with six digits.
  return date.getUTCFullYear() <= 9999 ? date : undefined;
}

/**
 * ISO 8601 allows 24:00:00 and RFC 3339 leap seconds; `Date` accepts the first and not the second. Both are refused.
 */
function isClockTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text);
}

function dateTime(description: string) {
  const value = queryValue<Date, string>(parseDateTime, 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z');
  return onWire(value, { type: 'string', format: 'date-time', description });
}

/**
 * The spec's page, limit, from and to of both lists.
 * @param bounded the field that `from` and `to` limit
 */
export function listQuery(bounded: 'createdAt' | 'deadAt') {
  return z.object({
    page: wholeNumber(LIMITS.page, 1, 'Number of the page, starting at 1.'),
    limit: wholeNumber(LIMITS.pageSize, LIMITS.pageSize.default, 'Maximum number of entries on a page.'),
    from: dateTime(
      `Lower bound of \`${bounded}\`, inclusive. If it is before the plan's retention window, the start of the window applies.`,
    ).optional(),
    to: dateTime(`Upper bound of \`${bounded}\`, inclusive.`).optional(),
  });
}

const INCLUDE_REPLAYED: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null, '': null };

/** "boolean or null" in the spec: absent and null mean the default. */
export const includeReplayed = onWire(
  queryValue<boolean | null, boolean | null | string>(
    (text) => (Object.hasOwn(INCLUDE_REPLAYED, text) ? INCLUDE_REPLAYED[text] : undefined),
    'must be true, false or null',
  ),
  {
    type: 'boolean',
    nullable: true,
    description: '`false` leaves out dead letters that were replayed. Absent and `null` mean `true`.',
  },
);

/** A literal substring. A text that is longer than any key (at most 4 bytes per character) would match nothing. */
export const idempotencyKeyFilter = onWire(
  queryValue<string, string>(
    (text) => (text.includes('\0') || text.length > LIMITS.idempotencyKeyLength * 4 ? undefined : text),
    `must be at most ${LIMITS.idempotencyKeyLength * 4} characters long, without NUL`,
  ),
  {
    type: 'string',
    maxLength: LIMITS.idempotencyKeyLength * 4,
    description: 'Only jobs whose idempotency key contains this text, ignoring case. No character is special.',
  },
);
