/**
 * The form of the ids that the database makes (`jobferry_id`).
 * No row has an id in another form, so a query for one is not needed.
 */
const ID = /^[0-9a-f]{24}$/;

export function isId(text: string): boolean {
  return ID.test(text);
}

/** The latest time that an id can contain: its first 12 digits are milliseconds. */
const LAST_MOMENT = 2 ** 48 - 1;

/** Returns the smallest id that a row created at this time can have, as `jobferry_first_id` does in SQL. */
export function firstIdAt(ms: number): string {
  const digits = Math.min(Math.max(Math.floor(ms), 0), LAST_MOMENT).toString(16);
  return digits.padStart(12, '0').padEnd(24, '0');
}
