import { randomBytes } from 'node:crypto';

/** Returns a new signing secret for a queue. The API shows it once, when it is created. */
export function generateSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('hex')}`;
}
