const encoder = new TextEncoder();

/**
 * Whether a delivery is Jobferry's: `header` must be `sha256=` and the lowercase hex HMAC-SHA256 of the
 * body's bytes as they came in, under one of the secrets (spec "Authentication", 3). WebCrypto compares
 * in constant time, and nothing else is used, so this runs on Node, Deno, Bun and Workers alike.
 *
 * @param rawBody never a parsed body that was written again; a string stands for its UTF-8 bytes
 * @param header the value as received; absent is false
 * @param secret the queue's `signingSecret`; several while it is being rotated. Empty ones verify nothing
 */
export async function verifySignature(
  rawBody: Uint8Array | ArrayBuffer | string,
  header: string | null | undefined,
  secret: string | readonly string[],
): Promise<boolean> {
  const [, hex] = /^sha256=([0-9a-f]{64})$/.exec(header ?? '') ?? [];
  if (hex === undefined) return false;
  const signature = Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16));
  // WebCrypto's types leave out shared memory, which no body is in.
  const body = (typeof rawBody === 'string' ? encoder.encode(rawBody) : rawBody) as Uint8Array<ArrayBuffer>;
  const secrets = (typeof secret === 'string' ? [secret] : secret).filter((one) => one !== '');
  const matches = await Promise.all(secrets.map((one) => isSignedWith(one, signature, body)));
  return matches.includes(true);
}

async function isSignedWith(
  secret: string,
  signature: Uint8Array<ArrayBuffer>,
  body: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
  return crypto.subtle.verify('HMAC', key, signature, body);
}
