/** Made at the first use: a test environment such as jsdom lacks the class, and imports the module all the same. */
const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/**
 * Verifies that Jobferry sent a delivery: `header` must be `sha256=` and the lowercase hex HMAC-SHA256 of the received
 * bytes of the body, under one of the secrets (spec "Authentication", 3). It uses only WebCrypto, which compares in
 * constant time, so it runs on Node, Deno, Bun and Workers.
 *
 * @param rawBody the bytes as received, not a parsed body that was serialized again; a string stands for its UTF-8
 *   bytes
 * @param header the value as received; a missing header is not valid
 * @param secret the queue's `signingSecret`; several during a rotation. An empty secret verifies nothing
 * @returns whether the signature is valid
 */
export async function verifySignature(
  rawBody: Uint8Array | ArrayBuffer | string,
  header: string | null | undefined,
  secret: string | readonly string[],
): Promise<boolean> {
  const [, hex] = /^sha256=([0-9a-f]{64})$/.exec(header ?? '') ?? [];
  if (hex === undefined) return false;
  const signature = Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16));
  // WebCrypto's types exclude shared memory, which no body uses.
  const body = (typeof rawBody === 'string' ? encode(rawBody) : rawBody) as Uint8Array<ArrayBuffer>;
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
  const key = await crypto.subtle.importKey('raw', encode(secret), algorithm, false, ['verify']);
  return crypto.subtle.verify('HMAC', key, signature, body);
}
