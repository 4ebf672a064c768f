import { expect, it } from 'vitest';
import { sign } from '../../src/delivery/signature.ts';
import { verifySignature } from '../support/receiver.ts';

// RFC 4231, test cases 1, 2 and 7, and the well-known digest of nothing under an empty key.
it.each([
  ['0b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  ['4a656665', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
  ['', '', 'b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad'],
])('signs with the key of hex "%s" the text "%s"', (key, text, digest) => {
  const secret = Buffer.from(key, 'hex').toString('latin1');
  expect(sign(Buffer.from(text), secret)).toBe(`sha256=${digest}`);
});

it('signs the bytes, whatever they are', () => {
  const body = Buffer.from([0, 255, 0xc0, 0xaf, 10]);
  expect(verifySignature(body, sign(body, 's3cret'), 's3cret')).toBe(true);
  expect(verifySignature(Buffer.from([0, 255, 0xc0, 0xae, 10]), sign(body, 's3cret'), 's3cret')).toBe(false);
  expect(verifySignature(body, sign(body, 'other'), 's3cret')).toBe(false);
  expect(verifySignature(body, undefined, 's3cret')).toBe(false);
});
