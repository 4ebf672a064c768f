/** Dimensions, whether there are nulls, element type, length, and the index of the first element. */
const HEAD_BYTES = 20;
const TEXT_OID = 25;

/**
 * Returns a `text[]` in PostgreSQL's binary format, which the driver passes on as it is. The driver's own form of an
 * array is text, of which both sides look at each character.
 * @param texts well-formed, because lone surrogates would become U+FFFD
 */
export function textArray(texts: readonly string[]): Buffer {
  let size = HEAD_BYTES;
  for (const text of texts) size += 4 + Buffer.byteLength(text);
  const array = Buffer.allocUnsafe(size);
  let at = 0;
  for (const field of [1, 0, TEXT_OID, texts.length, 1]) at = array.writeInt32BE(field, at);
  for (const text of texts) {
    const written = array.write(text, at + 4);
    array.writeInt32BE(written, at);
    at += 4 + written;
  }
  return array;
}
