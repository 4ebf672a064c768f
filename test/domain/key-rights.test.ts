import { describe, expect, it } from 'vitest';
import {
  assertGraphQL,
  assertNoLongerThan,
  assertScope,
  hasQueue,
  hasScope,
  KEY_SCOPES,
  type RequestedRights,
  rightsOf,
} from '../../src/domain/key-rights.ts';

const NOW = new Date('2026-11-22T12:00:00Z');
const LATER = new Date('2026-11-23T12:00:00Z');
const rights = (requested: RequestedRights) => {
  const found = rightsOf(requested, NOW);
  if (found === null) throw new Error('no limits');
  return found;
};

describe('the limits of a key', () => {
  it.each<[RequestedRights, object | null]>([
    [{}, null],
    [{ scopes: null, queues: null, expiresAt: null }, null],
    [{ scopes: ['read', 'publish', 'read'] }, { scopes: ['publish', 'read'], queues: [], expiresAt: null }],
    [
      { scopes: ['publish'], queues: ['a', 'b', 'a'] },
      { scopes: ['publish'], queues: ['a', 'b'], expiresAt: null },
    ],
    [{ expiresAt: LATER }, { scopes: ['admin'], queues: [], expiresAt: LATER }],
  ])('%j are %j', (requested, expected) => {
    expect(rightsOf(requested, NOW)).toEqual(expected);
  });

  it.each<[string, RequestedRights]>([
    ['scopes', { scopes: [] }],
    ['scopes', { queues: ['a'] }],
    ['scopes', { queues: ['a'], scopes: ['read', 'admin'] }],
    ['queues', { scopes: ['read'], queues: [] }],
    ['queues', { scopes: ['read'], queues: ['A'] }],
    ['queues', { scopes: ['read'], queues: [''] }],
    ['queues', { scopes: ['read'], queues: Array.from({ length: 101 }, (_, n) => `q${n}`) }],
    ['expiresAt', { expiresAt: NOW }],
    ['expiresAt', { expiresAt: new Date(Number.NaN) }],
  ])('are refused for %s: %j', (field, requested) => {
    const refused = { kind: 'invalid_fields', fields: { [field]: [expect.any(String)] } };
    expect(() => rightsOf(requested, NOW)).toThrow(expect.objectContaining(refused));
  });

  it('permit what their scopes name; admin permits all', () => {
    for (const scope of KEY_SCOPES) {
      expect(KEY_SCOPES.filter((needed) => hasScope({ scopes: [scope] }, needed))).toEqual(
        scope === 'admin' ? KEY_SCOPES : [scope],
      );
    }
    expect(() => assertScope(rights({ scopes: ['read'] }), 'publish')).toThrow('needs the scope publish');
    expect(() => assertScope(null, 'admin')).not.toThrow();
  });

  it('permit the queues that they name', () => {
    expect([hasQueue({ queues: ['a'] }, 'a'), hasQueue({ queues: ['a'] }, 'b'), hasQueue({ queues: [] }, 'b')]).toEqual(
      [true, false, true],
    );
  });

  it('permit GraphQL to keys that may read all queues', () => {
    for (const requested of [{}, { scopes: ['read', 'publish'] as const }, { expiresAt: LATER }]) {
      expect(() => assertGraphQL(rightsOf(requested, NOW))).not.toThrow();
    }
    expect(() => assertGraphQL(rights({ scopes: ['publish', 'manage'] }))).toThrow('needs the scope read');
    expect(() => assertGraphQL(rights({ scopes: ['read'], queues: ['a'] }))).toThrow('REST API only');
  });

  it('keep a key from creating one that outlives it', () => {
    const creator = rights({ expiresAt: LATER });
    expect(() => assertNoLongerThan(creator, null)).toThrow('expires at 2026-11-23T12:00:00.000Z');
    expect(() => assertNoLongerThan(creator, rights({ scopes: ['read'] }))).toThrow('and so must keys');
    const longer = rights({ expiresAt: new Date(LATER.getTime() + 1) });
    expect(() => assertNoLongerThan(creator, longer)).toThrow('and so must keys');
    expect(() => assertNoLongerThan(creator, rights({ expiresAt: LATER }))).not.toThrow();
    expect(() => assertNoLongerThan(null, longer)).not.toThrow();
  });
});
