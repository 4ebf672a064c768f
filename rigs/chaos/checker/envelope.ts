import type { DeliveryRecord } from '../records.ts';

/** An envelope as the checker reads it, with the payload's own bytes. */
export interface Envelope {
  id: string;
  queue: string;
  attempt: number;
  maxAttempts: number;
  createdAt: string;
  payloadText: string;
}

/**
 * Reads a delivery's body; null when it is no envelope. The payload is cut out of the text, because
 * parsing and writing it again would hide exactly the differences that count (I-4).
 */
export function readEnvelope({ raw }: Pick<DeliveryRecord, 'raw'>): Envelope | null {
  try {
    const parsed = JSON.parse(raw) as Record<string, unknown>;
    const payloadText = memberText(raw, 'payload');
    const { id, queue, attempt, maxAttempts, createdAt } = parsed;
    if (typeof id !== 'string' || typeof queue !== 'string' || typeof createdAt !== 'string') return null;
    if (typeof attempt !== 'number' || typeof maxAttempts !== 'number' || payloadText === null) return null;
    return { id, queue, attempt, maxAttempts, createdAt, payloadText };
  } catch {
    return null;
  }
}

/** The source text of a member of a JSON object that `JSON.parse` has accepted. */
function memberText(text: string, name: string): string | null {
  let depth = 0;
  let key: string | null = null;
  let valueFrom = -1;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (sign === '"') {
      const end = endOfString(text, at);
      if (depth === 1 && valueFrom < 0) key = JSON.parse(text.slice(at, end + 1)) as string;
      at = end;
    } else if (sign === ':' && depth === 1 && valueFrom < 0) valueFrom = at + 1;
    else if (depth === 1 && (sign === ',' || sign === '}')) {
      if (key === name) return text.slice(valueFrom, at);
      valueFrom = -1;
      if (sign === '}') return null;
    } else if (sign === '{' || sign === '[') depth += 1;
    else if (sign === '}' || sign === ']') depth -= 1;
  }
  return null;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}
