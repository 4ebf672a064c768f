/** PostgreSQL can store neither NUL nor lone surrogates. Replacing them would make different texts equal (D27). */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Counts characters as people and PostgreSQL do: an emoji is one, although it has two units in JavaScript. */
export function isLongerThan(text: string, characters: number): boolean {
  if (text.length <= characters) return false;
  if (text.length > 2 * characters) return true;
  let count = 0;
  for (const _ of text) count += 1;
  return count > characters;
}

/** Maximum length of a message in characters. Messages of libraries quote the request. */
const MAX_MESSAGE = 400;
/** The beginning and the end of a message name the place and the problem; what is quoted stands between them. */
const MESSAGE_HEAD = 120;

/** Cuts the middle out of a long message, so that no error repeats all that a client has sent. */
export function shortened(message: string): string {
  if (message.length <= MAX_MESSAGE) return message;
  const end = message.slice(MESSAGE_HEAD - MAX_MESSAGE);
  return `${message.slice(0, MESSAGE_HEAD).toWellFormed()} … ${end.toWellFormed()}`;
}

/** Characters that are not seen, and that a terminal may obey. */
export const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Names and errors come from clients and receivers. Control characters in them could rewrite the terminal's text. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}
