import { createHmac } from 'node:crypto';

/**
 * Value of the signature header (spec "Authentication", 3): the digest of the exact bytes that are
 * sent, so it takes the finished body and never a value that would be serialised a second time.
 */
export function sign(body: Buffer, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
