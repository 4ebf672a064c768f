import { LIMITS } from './queue.ts';

/** The payload is itself one level inside the body (D26); other bodies are far flatter. */
const MAX_BODY_DEPTH = LIMITS.payloadDepth + 1;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Every character of "payload" as a six-character escape, between quotes. */
const LONGEST_PAYLOAD_KEY = '"payload"'.length + 'payload'.length * 5;

type JsonScan =
  | { ok: true /** Source texts of the top-level members called `payload`. */; payloads: string[] }
  | { ok: false; reason: 'too deep' };

/**
 * Finds in JSON text what `JSON.parse` does not report: the nesting depth, before any recursive code
 * reads the text, and the source text of `payload` (Node 20 gives a reviver no access to the source).
 * It makes one linear pass and assumes that the text is JSON. For other text the result is
 * meaningless, so callers must also `JSON.parse` the same text before they use the result.
 */
export function scanJson(text: string, maxDepth: number = MAX_BODY_DEPTH): JsonScan {
  const payloads: string[] = [];
  let depth = 0;
  let atKey = false;
  let isPayload = false;
  let valueStart = 0;

  const endMember = (end: number) => {
    if (isPayload) payloads.push(text.slice(valueStart, end).trim());
    isPayload = false;
  };

  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (depth === 1 && atKey) {
          isPayload = isPayloadKey(text, at, end);
          atKey = false;
        }
        at = end - 1;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        if (depth > maxDepth) return { ok: false, reason: 'too deep' };
        if (depth === 1) atKey = text.charCodeAt(at) === OPEN_BRACE;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (depth === 1) endMember(at);
        depth -= 1;
        break;
      case COLON:
        if (depth === 1) valueStart = at + 1;
        break;
      case COMMA:
        if (depth === 1) {
          endMember(at);
          atKey = true;
        }
        break;
    }
  }
  return { ok: true, payloads };
}

/** Returns the index after the closing quote, or the end of the text if the string is not closed. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslash = quote;
    while (text.charCodeAt(backslash - 1) === BACKSLASH) backslash -= 1;
    if ((quote - backslash) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** `"p\u0061yload"` names the same member as `"payload"`, so the duplicate check must find it. */
function isPayloadKey(text: string, start: number, end: number): boolean {
  if (end - start > LONGEST_PAYLOAD_KEY) return false;
  const source = text.slice(start, end);
  if (!source.includes('\\')) return source === '"payload"';
  try {
    return JSON.parse(source) === 'payload';
  } catch {
    return false;
  }
}
