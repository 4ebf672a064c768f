import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSealed, keyIdOf, type Scope, SecretBox, UnreadableError } from '../../src/db/connection/secret-box.ts';

const [first, second] = [randomBytes(32), randomBytes(32)];
const box = new SecretBox([first]);
const SCOPE = 'signing-secret:0123456789abcdef01234567';
const TEXT = `whsec_${'ab'.repeat(32)}`;

const encoded = (stored: string) => Buffer.from(stored.split(':')[3] ?? '', 'base64');
const withBytes = (stored: string, change: (bytes: Buffer) => Buffer) =>
  `${stored.slice(0, stored.lastIndexOf(':'))}:${change(encoded(stored)).toString('base64')}`;

describe('a sealed text', () => {
  it.each([
    ['a signing secret', TEXT],
    ['nothing', ''],
    ['any Unicode', '{"a":"\u00e4\u20ac\u{1f511}\ufffd\u0001","b":1e400}'],
    ['something long', 'x'.repeat(1_048_576)],
    ['what looks sealed', box.seal(SCOPE, TEXT)],
  ])('opens again: %s', (_what, text) => {
    const stored = box.seal(SCOPE, text);
    expect(stored).toMatch(/^enc:v1:[0-9a-f]{8}:[A-Za-z0-9+/]+=*$/);
    expect(box.open(SCOPE, stored)).toBe(text);
    expect(box.openOften(SCOPE, stored)).toBe(text);
    expect([isSealed(stored), keyIdOf(stored)]).toEqual([true, box.keyId]);
  });

  it('opens again, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wellFormed = text.toWellFormed();
        expect(box.open(SCOPE, box.seal(SCOPE, wellFormed))).toBe(wellFormed);
      }),
    );
  });

  it('is never the same twice, and tells its length and nothing else', () => {
    const stored = Array.from({ length: 1000 }, () => box.seal(SCOPE, TEXT));
    expect(new Set(stored.map((one) => encoded(one).subarray(0, 24).toString('hex'))).size).toBe(1000);
    expect(new Set(stored.map((one) => encoded(one).subarray(24).toString('hex'))).size).toBe(1000);
    for (const one of stored) expect(encoded(one)).toHaveLength(24 + TEXT.length + 16);
    expect(encoded(stored[0] ?? '').includes(TEXT.slice(0, 8))).toBe(false);
  });
});

describe('what was not encrypted', () => {
  it.each([TEXT, '', '{}', '{"enc":"v1"}', 'enc:', 'ENC:v1:'])('passes as it is: %j', (text) => {
    expect(box.open('payload:1', text)).toBe(text);
    expect(box.openOften('payload:1', text)).toBe(text);
    expect(keyIdOf(text)).toBeUndefined();
  });

  it('stays so without a key', () => {
    const none = new SecretBox();
    expect([none.seal(SCOPE, TEXT), none.keyId]).toEqual([TEXT, null]);
  });
});

describe('what does not open', () => {
  const stored = box.seal(SCOPE, TEXT);
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
    ['not base64', `enc:v1:${box.keyId}:***`],
  ])('%s', (_what, changed) => {
    expect(() => box.open(SCOPE, changed)).toThrow(UnreadableError);
    expect(() => box.openOften(SCOPE, changed)).toThrow(UnreadableError);
  });

  it.each<Scope>(['signing-secret:ffffffffffffffffffffffff', 'payload:0123456789abcdef01234567'])(
    'what was moved to %s, also when it was opened before',
    (scope) => {
      expect(box.openOften(SCOPE, stored)).toBe(TEXT);
      expect(() => box.openOften(scope, stored)).toThrow(UnreadableError);
    },
  );

  it('a text of a key that is not there, and says which variable is meant', () => {
    for (const other of [new SecretBox([second]), new SecretBox()]) {
      expect(() => other.open(SCOPE, stored)).toThrow(
        `${SCOPE} is encrypted with the key ${box.keyId}, which ENCRYPTION_KEY does not have`,
      );
    }
  });

  it('a text under another key that has its id', () => {
    const other = new SecretBox([second]);
    const disguised = stored.replace(`:${box.keyId}:`, `:${other.keyId}:`);
    expect(() => other.open(SCOPE, disguised)).toThrow(UnreadableError);
  });

  it('never says what is inside, or the key', () => {
    for (const broken of [`${stored.slice(0, -4)}AAA=`, stored.replace(/v1:\w+/, 'v1:00000000')]) {
      try {
        box.open(SCOPE, broken);
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
  it('encrypt with the first, and open what any of them encrypted', () => {
    const rotated = new SecretBox([second, first]);
    const [old, fresh] = [box.seal(SCOPE, TEXT), rotated.seal(SCOPE, TEXT)];
    expect([keyIdOf(old), keyIdOf(fresh)]).toEqual([box.keyId, new SecretBox([second]).keyId]);
    expect([rotated.open(SCOPE, old), rotated.open(SCOPE, fresh)]).toEqual([TEXT, TEXT]);
    expect(() => box.open(SCOPE, fresh)).toThrow(UnreadableError);
    expect(keyIdOf(rotated.seal(SCOPE, TEXT, box.keyId))).toBe(box.keyId);
    expect([rotated.knows(box.keyId ?? ''), rotated.knows('00000000')]).toEqual([true, false]);
  });

  it('have 32 bytes', () => {
    for (const length of [0, 16, 31, 33]) expect(() => new SecretBox([randomBytes(length)])).toThrow('32 bytes');
  });

  it('are not to be had from what is logged', () => {
    const shown = [JSON.stringify(box), String(box), Object.values(box).map(String).join()].join();
    for (const form of ['hex', 'base64'] as const) expect(shown).not.toContain(first.toString(form));
  });
});
