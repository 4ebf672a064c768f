import { createHmac } from 'node:crypto';
import { standardKeyOf } from '../domain/standard-webhooks.ts';

/**
 * Returns the value of the signature header (spec "Authentication", 3). It signs the exact bytes that are sent, so it
 * takes the finished body, not a value that would be serialised a second time.
 */
export function sign(body: Buffer, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/**
 * Returns the headers of Standard Webhooks, names and values in turn (docs/decisions/0050).
 * @param id the same for each attempt, because receivers deduplicate by it
 * @param secrets the present one first. One that no library could verify with is passed over; if there is no other,
 * there are no headers, so that a row that was written by hand stops no delivery
 * @param seconds since the epoch, by the clock of this machine: the receiver compares it with its own
 */
export function standardHeaders(
  id: string,
  body: Buffer,
  secrets: readonly string[],
  seconds = Math.floor(Date.now() / 1000),
): string[] {
  const signatures = secrets.flatMap((secret) => {
    const key = standardKeyOf(secret);
    if (key === null) return [];
    return [`v1,${createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')}`];
  });
  if (signatures.length === 0) return [];
  return ['webhook-id', id, 'webhook-timestamp', String(seconds), 'webhook-signature', signatures.join(' ')];
}
