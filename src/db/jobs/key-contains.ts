/**
 * The condition that a part of an idempotency key, a literal text, is in a key, whatever the case. Keys have the
 * collation "C", which knows the case of ASCII letters only, so both are compared by the collation of the database.
 * Upper case, because Greek has two small letters for one capital.
 */
export function keyContains(key: string, part: string): string {
  return `position(upper(${part} collate "default") in upper(${key} collate "default")) > 0`;
}
