import { lowerFirst } from './format.ts';
import { lexJson, positionOf } from './json/lex.ts';

/** Whether a text can be published as a payload: JSON, an object, and not too large. */
export type PayloadCheck =
  | { ok: true; bytes: number }
  | { ok: false; problem: string /** Position in the text; null if it is the whole of it. */; at: number | null };

/** The server refuses a larger one. */
const MAX_BYTES = 1024 * 1024;

export function checkPayload(text: string): PayloadCheck {
  if (text.trim() === '') return { ok: false, problem: 'A payload is a JSON object, such as {}.', at: null };
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > MAX_BYTES) return { ok: false, problem: 'A payload is at most 1 MiB.', at: null };
  const { error, tokens } = lexJson(text);
  if (error !== null) {
    const { line, column } = positionOf(text, error.at);
    return { ok: false, problem: `Line ${line}, column ${column}: ${lowerFirst(error.message)}`, at: error.at };
  }
  const first = tokens[0]?.start ?? 0;
  if (text[first] !== '{') return { ok: false, problem: 'A payload is an object: it begins with {.', at: first };
  return { ok: true, bytes };
}
