/**
 * Standard Webhooks (https://www.standardwebhooks.com), whose headers a queue can have beside those of the contract.
 */

const PREFIX = 'whsec_';

/**
 * Returns the key that libraries of the standard make of a secret: the bytes that the base64 after `whsec_` stands for.
 * They read the 64 hexadecimal digits of Jobferry's secrets as base64, which makes 48 bytes. The contract's own
 * signature takes the whole text as the key instead.
 * @returns null if the text is not strict base64: some libraries refuse it, and others read other bytes
 */
export function standardKeyOf(secret: string): Uint8Array | null {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  const key = Buffer.from(text, 'base64');
  return key.length > 0 && key.toString('base64') === text ? key : null;
}
