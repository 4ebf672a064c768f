/** A JSON object as clients of the API see it. */
export type JsonObject = Record<string, unknown>;

/** Texts met while `writeJson` runs; `null` otherwise. Writing is synchronous, so one is enough. */
let collected: string[] | null = null;

let placeholder: string | null = null;

/**
 * Unguessable and never sent, so no payload or key can contain it by intent or by chance. Made when it is
 * needed: Workers make nothing random while they load.
 */
function getPlaceholder(): string {
  placeholder ??= `verbatim:${globalThis.crypto.randomUUID()}`;
  return placeholder;
}

/**
 * JSON source text that must travel byte for byte (D26): `JSON.parse` followed by `JSON.stringify`
 * would change big numbers, `-0`, `1e400`, duplicate keys and escapes.
 */
export class VerbatimJson {
  /** The source text. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Outside of `writeJson`, for example in a log line, the parsed value has to do. */
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
