import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cipher, isEncrypted, keyIdOf, type Scope, UnreadableError } from '../../src/db/connection/cipher.ts';

const [first, second] = [randomBytes(32), randomBytes(32)];
const cipher = new Cipher([first]);
const SCOPE = 'signing-secret:0123456789abcdef01234567';
const TEXT = `whsec_${'ab'.repeat(32)}`;

const encoded = (stored: string) => Buffer.from(stored.split(':')[3] ?? '', 'base64');
const withBytes = (stored: string, change: (bytes: Buffer) => Buffer) =>
  `${stored.slice(0, stored.lastIndexOf(':'))}:${change(encoded(stored)).toString('base64')}`;

describe('an encrypted text', () => {
  it.each([
    ['a signing secret', TEXT],
    ['nothing', ''],
    ['any Unicode', '{"a":"\u00e4\u20ac\u{1f511}\ufffd\u0001","b":1e400}'],
    ['something long', 'x'.repeat(1_048_576)],
    ['what looks encrypted', cipher.encrypt(SCOPE, TEXT)],
  ])('is decrypted again: %s', (_what, text) => {
    const stored = cipher.encrypt(SCOPE, text);
    expect(stored).toMatch(/^enc:v1:[0-9a-f]{8}:[A-Za-z0-9+/]+=*$/);
    expect(cipher.decrypt(SCOPE, stored)).toBe(text);
    expect(cipher.decryptCached(SCOPE, stored)).toBe(text);
    expect([isEncrypted(stored), keyIdOf(stored)]).toEqual([true, cipher.keyId]);
  });

  it('is decrypted again, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wellFormed = text.toWellFormed();
        expect(cipher.decrypt(SCOPE, cipher.encrypt(SCOPE, wellFormed))).toBe(wellFormed);
      }),
    );
  });

  it('is never the same twice, and reveals only its length', () => {
    const stored = Array.from({ length: 1000 }, () => cipher.encrypt(SCOPE, TEXT));
    expect(new Set(stored.map((one) => encoded(one).subarray(0, 24).toString('hex'))).size).toBe(1000);
    expect(new Set(stored.map((one) => encoded(one).subarray(24).toString('hex'))).size).toBe(1000);
    for (const one of stored) expect(encoded(one)).toHaveLength(24 + TEXT.length + 16);
    expect(encoded(stored[0] ?? '').includes(TEXT.slice(0, 8))).toBe(false);
  });
});

describe('a text that was not encrypted', () => {
  it.each([TEXT, '', '{}', '{"enc":"v1"}', 'enc:', 'ENC:v1:'])('is returned as it is: %j', (text) => {
    expect(cipher.decrypt('payload:1', text)).toBe(text);
    expect(cipher.decryptCached('payload:1', text)).toBe(text);
    expect(keyIdOf(text)).toBeUndefined();
  });

  it('stays so without a key', () => {
    const none = new Cipher();
    expect([none.encrypt(SCOPE, TEXT), none.keyId]).toEqual([TEXT, null]);
  });
});

describe('a text that cannot be decrypted', () => {
  const stored = cipher.encrypt(SCOPE, TEXT);
  const bytes = encoded(stored);

  it.each<[what: string, stored: string]>([
    ...[0, 11, 12, 23, 24, bytes.length - 17, bytes.length - 16, bytes.length - 1].map((index): [string, string] => [
      `byte ${index} changed`,
      withBytes(stored, (all) => {
        all[index] = (all[index] ?? 0) ^ 1;
        return all;
      }),
    ]),
    ['a byte less', withBytes(stored, (all) => all.subarray(0, -1))],
    ['a byte more', withBytes(stored, (all) => Buffer.concat([all, Buffer.from([0])]))],
    ['a tag of 4 bytes', withBytes(stored, (all) => all.subarray(0, -12))],
    ['a nonce alone', withBytes(stored, (all) => all.subarray(0, 24))],
    ['nothing', withBytes(stored, () => Buffer.alloc(0))],
    ['no form', 'enc:v1:'],
    ['not base64', `enc:v1:${cipher.keyId}:***`],
  ])('%s', (_what, changed) => {
    expect(() => cipher.decrypt(SCOPE, changed)).toThrow(UnreadableError);
    expect(() => cipher.decryptCached(SCOPE, changed)).toThrow(UnreadableError);
  });

  it.each<Scope>(['signing-secret:ffffffffffffffffffffffff', 'payload:0123456789abcdef01234567'])(
    'what was moved to %s, also when it was opened before',
    (scope) => {
      expect(cipher.decryptCached(SCOPE, stored)).toBe(TEXT);
      expect(() => cipher.decryptCached(scope, stored)).toThrow(UnreadableError);
    },
  );

  it('a text of a key that is not there, and the error names the variable', () => {
    for (const other of [new Cipher([second]), new Cipher()]) {
      expect(() => other.decrypt(SCOPE, stored)).toThrow(
        `${SCOPE} is encrypted with the key ${cipher.keyId}, which ENCRYPTION_KEY does not have`,
      );
    }
  });

  it('a text under another key that has its id', () => {
    const other = new Cipher([second]);
    const disguised = stored.replace(`:${cipher.keyId}:`, `:${other.keyId}:`);
    expect(() => other.decrypt(SCOPE, disguised)).toThrow(UnreadableError);
  });

  it('is not in the error, nor is the key', () => {
    for (const broken of [`${stored.slice(0, -4)}AAA=`, stored.replace(/v1:\w+/, 'v1:00000000')]) {
      try {
        cipher.decrypt(SCOPE, broken);
        expect.unreachable();
      } catch (error) {
        const said = `${String(error)} ${(error as Error).stack}`;
        for (const secret of [TEXT, stored.slice(20), first.toString('hex'), first.toString('base64')]) {
          expect(said).not.toContain(secret);
        }
      }
    }
  });
});

describe('several keys', () => {
  it('encrypt with the first, and decrypt what any of them encrypted', () => {
    const rotated = new Cipher([second, first]);
    const [old, fresh] = [cipher.encrypt(SCOPE, TEXT), rotated.encrypt(SCOPE, TEXT)];
    expect([keyIdOf(old), keyIdOf(fresh)]).toEqual([cipher.keyId, new Cipher([second]).keyId]);
    expect([rotated.decrypt(SCOPE, old), rotated.decrypt(SCOPE, fresh)]).toEqual([TEXT, TEXT]);
    expect(() => cipher.decrypt(SCOPE, fresh)).toThrow(UnreadableError);
    expect(keyIdOf(rotated.encrypt(SCOPE, TEXT, cipher.keyId))).toBe(cipher.keyId);
    expect([rotated.knows(cipher.keyId ?? ''), rotated.knows('00000000')]).toEqual([true, false]);
  });

  it('have 32 bytes', () => {
    for (const length of [0, 16, 31, 33]) expect(() => new Cipher([randomBytes(length)])).toThrow('32 bytes');
  });

  it('are not in the text forms that a log could have', () => {
    const shown = [JSON.stringify(cipher), String(cipher), Object.values(cipher).map(String).join()].join();
    for (const form of ['hex', 'base64'] as const) expect(shown).not.toContain(first.toString(form));
  });
});
