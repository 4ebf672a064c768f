import { expect, it } from 'vitest';
import { standardKeyOf } from '../../src/domain/standard-webhooks.ts';
import { generateSigningSecret } from '../../src/services/queues/signing-secret.ts';

/** The key that libraries of Standard Webhooks make of a secret; rigs/packages/tools has one of them. */

it('a secret of Jobferry is base64, of 48 bytes', () => {
  for (let n = 0; n < 100; n += 1) {
    const secret = generateSigningSecret();
    const key = standardKeyOf(secret);
    expect(key).toHaveLength(48);
    expect(`whsec_${Buffer.from(key ?? []).toString('base64')}`).toBe(secret);
  }
});

it.each([
  ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 24],
  ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 24],
  ['whsec_AA==', 1],
  ['whsec_+/+/', 3],
])('the key of %j has %i bytes', (secret, bytes) => {
  expect(standardKeyOf(secret)).toHaveLength(bytes);
});

it.each([
  ...['', 'whsec_', 'a secret of one queue', 'whsec_AA', 'whsec_AAA', 'whsec_AAAAA', 'whsec_AA=', 'whsec_-_-_'],
  // Bits that no byte has, a line break, a second prefix, and a letter that base64 does not have.
  ...['whsec_AB==', 'whsec_AAAA\n', 'whsec_whsec_AAAA', 'whsec_AAAé'],
])('%j has no key, because libraries refuse it, or differ', (secret) => {
  expect(standardKeyOf(secret)).toBeNull();
});
