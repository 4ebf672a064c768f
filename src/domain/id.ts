/** What the database makes of an id (`jobferry_id`); any other text names nothing, and need not be asked for. */
const ID = /^[0-9a-f]{24}$/;

export function isId(text: string): boolean {
  return ID.test(text);
}

/** The last moment that an id can hold: its first 12 digits are milliseconds. */
const LAST_MOMENT = 2 ** 48 - 1;

/** The smallest id that something created at this moment can have, as `jobferry_first_id` says. */
export function firstIdAt(ms: number): string {
  const digits = Math.min(Math.max(Math.floor(ms), 0), LAST_MOMENT).toString(16);
  return digits.padStart(12, '0').padEnd(24, '0');
}
