import { expect, it } from 'vitest';
import { describeApiKey, generateApiKey, isPlausibleApiKey } from '../../src/services/accounts/api-key.ts';

it('makes keys of prefix, chance and checksum', () => {
  const key = generateApiKey();
  expect(key).toMatch(/^jf_[0-9A-Za-z]{46}$/);
  expect(isPlausibleApiKey(key)).toBe(true);
  expect(generateApiKey()).not.toBe(key);
});

it.each([
  ['another last character', (key: string) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')],
  ['another first character', (key: string) => `jf_${key[3] === '0' ? '1' : '0'}${key.slice(4)}`],
  ['a missing character', (key: string) => key.slice(0, -1)],
  ['nothing but the prefix', () => 'jf_'],
])('sees %s without asking the database', (_what, change) => {
  expect(isPlausibleApiKey(change(generateApiKey()))).toBe(false);
});

it('leaves keys of another form to the database, since BOOTSTRAP_API_KEY may be one', () => {
  expect(isPlausibleApiKey('correct-horse-battery')).toBe(true);
});

it('stores nothing that could be used', () => {
  const key = generateApiKey();
  const stored = describeApiKey(key);
  expect(stored.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(stored)).not.toContain(key.slice(6, -4));
});
