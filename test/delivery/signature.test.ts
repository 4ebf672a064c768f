import { describe, expect, it } from 'vitest';
import { sign, standardHeaders } from '../../src/delivery/signature.ts';
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

describe('the headers of Standard Webhooks', () => {
  // The vector that the libraries of the standard have in their tests.
  const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  const BODY = Buffer.from('{"test": 2432232314}');
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
  const named = (secrets: string[]) => {
    const headers = standardHeaders(ID, BODY, secrets, 1614265330);
    return Object.fromEntries(headers.flatMap((name, n) => (n % 2 === 0 ? [[name, headers[n + 1]]] : [])));
  };
  const PUBLISHED = { 'webhook-id': ID, 'webhook-timestamp': '1614265330', 'webhook-signature': SIGNATURE };

  it('are those of the published vector', () => {
    expect(named([SECRET])).toEqual(PUBLISHED);
  });

  it('have both signatures during a rotation, the present one first', () => {
    const other = 'whsec_AAAA';
    const both = named([other, SECRET])['webhook-signature'];
    expect(both).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    expect(both?.split(' ')[1]).toBe(SIGNATURE);
    expect(named([SECRET, other])['webhook-signature']).toBe(both?.split(' ').reverse().join(' '));
  });

  it('pass over a secret that no library could verify with', () => {
    expect(named(['not base64', SECRET])).toEqual(PUBLISHED);
    expect(named(['not base64'])).toEqual({});
  });

  it('have the seconds of now', () => {
    const before = Math.floor(Date.now() / 1000);
    const seconds = Number(standardHeaders(ID, BODY, [SECRET])[3]);
    expect(seconds).toBeGreaterThanOrEqual(before);
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1000);
  });
});
