import { randomBytes } from 'node:crypto';
import { invalidField } from '../../domain/errors.ts';
import { signingSecretProblem } from '../../domain/signing-secret.ts';

/**
 * Returns a new signing secret for a queue. The API shows it once, when it is created. Its 64 hexadecimal digits are
 * base64, too: libraries of Standard Webhooks take it as it is (`standardKeyOf`).
 */
export function generateSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('hex')}`;
}

/** @throws JobferryError `invalid_fields` */
export function assertSigningSecret(secret: string): void {
  const problem = signingSecretProblem(secret);
  if (problem !== null) throw invalidField('signingSecret', problem);
}
