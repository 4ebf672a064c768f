import { randomBytes } from 'node:crypto';
import { invalidField } from '../../domain/errors.ts';

/**
 * Returns a new signing secret for a queue. The API shows it once, when it is created. Its 64 hexadecimal digits are base64, too:
 * libraries of Standard Webhooks take it as it is (`standardKeyOf`).
 */
export function generateSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('hex')}`;
}

/** @throws JobferryError `invalid_fields` for a secret that is easy to guess, or that no header or variable could hold */
export function assertSigningSecret(secret: string): void {
  if (!/^[\x21-\x7e]{24,128}$/.test(secret)) {
    throw invalidField('signingSecret', 'must be 24 to 128 printable ASCII characters without spaces');
  }
}
