/** The text of values: quotes, commas, and which values have to stand in quotes. */

/** Its message is a sentence for the person who typed the text. */
export class Unreadable extends Error {}

/** Cuts at spaces that are not within quotes. */
export function termsOf(text: string): string[] {
  return text.match(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g) ?? [];
}

/** Cuts at commas that are not within quotes. */
export function splitValues(text: string): string[] {
  const unquoted = text.replace(/(^|,)"(?:[^"\\]|\\.)*"(?=,|$)/g, '');
  if (unquoted.includes('"')) throw new Unreadable('Quotes stand around a whole value.');
  const values = text.match(/"(?:[^"\\]|\\.)*"|[^,"]+/g);
  if (values === null) throw new Unreadable('A value is missing.');
  return values;
}

export function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    throw new Unreadable('The quotes are not closed.');
  }
}

/** Text without a character that has a meaning in the filter stands as it is, else in quotes. */
const PLAIN = /^[^\s",!~><*{[][^\s",]*$/;

export function formatText(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text);
}

export function unique<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)];
}
