/** PostgreSQL can store neither NUL nor lone surrogates. Replacing them would make different texts equal (D27). */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
