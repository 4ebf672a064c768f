const PROTOCOL_3 = 3;
const HEADER_BYTES = 8;

/** The `application_name` in PostgreSQL's startup message, or null when these bytes are none or name nothing. */
export function applicationNameIn(data: Buffer): string | null {
  if (data.length <= HEADER_BYTES || data.readUInt16BE(4) !== PROTOCOL_3) return null;
  // Names and values in turn, each ended by a zero byte.
  const texts = data.subarray(HEADER_BYTES, data.readUInt32BE(0)).toString('utf8').split('\0');
  for (let n = 0; n + 1 < texts.length; n += 2) if (texts[n] === 'application_name') return texts[n + 1] ?? null;
  return null;
}
