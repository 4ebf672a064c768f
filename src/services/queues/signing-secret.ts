import { randomBytes } from 'node:crypto';

/** Of a queue; shown once, when it is made. */
export function generateSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('hex')}`;
}
