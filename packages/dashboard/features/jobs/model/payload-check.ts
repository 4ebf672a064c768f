import { lowerFirst } from '../../../../query/words/format.ts';
import { lexJson, positionOf } from '../../../words/json/lex.ts';

/** Whether a text can be published as a payload: JSON, an object, and not too large. */
export type PayloadCheck =
  | { ok: true; bytes: number }
  | { ok: false; problem: string /** Position in the text; null if it is the whole of it. */; at: number | null };

/** The server refuses a larger body. */
const MAX_BYTES = 1024 * 1024;
/** The size of a request beside its payload, generously. */
const REST_BYTES = 4096;
const bytesOf = (text: string) => new TextEncoder().encode(text).length;
/** The page sends the text as a string within JSON, so each quote counts twice. */
const isTooLargeEscaped = (text: string, bytes: number) =>
  2 * bytes > MAX_BYTES - REST_BYTES && bytesOf(JSON.stringify(text)) > MAX_BYTES - REST_BYTES;

export function checkPayload(text: string): PayloadCheck {
  if (text.trim() === '') return { ok: false, problem: 'A payload is a JSON object, such as {}.', at: null };
  const bytes = bytesOf(text);
  if (bytes > MAX_BYTES) return { ok: false, problem: 'A payload is at most 1 MiB.', at: null };
  if (isTooLargeEscaped(text, bytes)) {
    const problem = 'With each quote escaped, as this page has to send it, it is over 1 MiB. Send it with curl.';
    return { ok: false, problem, at: null };
  }
  const { error, tokens } = lexJson(text);
  if (error !== null) {
    const { line, column } = positionOf(text, error.at);
    return { ok: false, problem: `Line ${line}, column ${column}: ${lowerFirst(error.message)}`, at: error.at };
  }
  const first = tokens[0]?.start ?? 0;
  if (text[first] !== '{') return { ok: false, problem: 'A payload is an object: it begins with {.', at: first };
  return { ok: true, bytes };
}
