import { createHmac } from 'node:crypto';

/**
 * Returns the value of the signature header (spec "Authentication", 3). It signs the exact bytes that are sent, so it
 * takes the finished body, not a value that would be serialised a second time.
 */
export function sign(body: Buffer, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
