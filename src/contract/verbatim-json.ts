/** A JSON object as clients of the API send and receive it. */
export type JsonObject = Record<string, unknown>;

/** Texts found while `writeJson` runs; `null` otherwise. `writeJson` is synchronous, so one variable is enough. */
let collected: string[] | null = null;

let placeholder: string | null = null;

/**
 * The placeholder cannot be guessed and is never sent, so no payload or key can contain it. It is created at the first
 * use, because Cloudflare Workers refuse random values while a module loads.
 */
function getPlaceholder(): string {
  placeholder ??= `verbatim:${globalThis.crypto.randomUUID()}`;
  return placeholder;
}

/**
 * JSON source text that must be sent byte for byte (D26): `JSON.parse` followed by `JSON.stringify`
 * would change big numbers, `-0`, `1e400`, duplicate keys and escapes.
 */
export class VerbatimJson {
  /** The source text. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Outside of `writeJson`, for example in a log line, the parsed value is written. */
  toJSON(): unknown {
    if (collected === null) return JSON.parse(this.text);
    collected.push(this.text);
    return getPlaceholder();
  }
}

/** `JSON.stringify`, with every `VerbatimJson` inside written as its own source text. */
export function writeJson(value: unknown): string {
  const texts: string[] = [];
  collected = texts;
  let json: string;
  try {
    json = JSON.stringify(value);
  } finally {
    collected = null;
  }
  if (texts.length === 0) return json;
  const [first = '', ...rest] = json.split(JSON.stringify(getPlaceholder()));
  if (rest.length !== texts.length) throw new Error('a verbatim JSON text would be written in the wrong place');
  return rest.reduce((written, piece, index) => written + texts[index] + piece, first);
}
