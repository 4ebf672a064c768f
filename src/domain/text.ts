/** Neither NUL nor a lone surrogate can be stored, and either would make different texts equal (D27). */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
