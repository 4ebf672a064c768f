import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  assertKeepable,
  BULK_BATCH,
  type CanaryJob,
  checkCanary,
  filterOf,
  MAX_RATE_PER_SECOND,
  matchesEverything,
  paceOf,
} from '../../src/domain/bulk.ts';
import { JobferryError } from '../../src/domain/errors.ts';

describe('paceOf', () => {
  it('stays below the rate in every second, and not far below it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_RATE_PER_SECOND }), (rate) => {
        const { batchSize, intervalMs } = paceOf(rate);
        expect(batchSize).toBeLessThanOrEqual(BULK_BATCH);
        // Both ends of the second may have a batch.
        expect((Math.floor(1000 / intervalMs) + 1) * batchSize).toBeLessThanOrEqual(rate);
        expect((1000 / intervalMs) * batchSize).toBeGreaterThanOrEqual(rate * 0.6);
      }),
      { numRuns: 1000, examples: [[1], [6], [9], [11], [501], [2499]] },
    );
  });

  it('is as fast as it goes without a rate', () => {
    expect(paceOf(null)).toEqual({ batchSize: BULK_BATCH, intervalMs: 0 });
  });
});

describe('matchesEverything', () => {
  const now = new Date();
  it.each<[object, string[], boolean]>([
    [{}, [], true],
    [{ queueIds: undefined }, [], true],
    [{ queueIds: [] }, [], true],
    [{ errorContains: '' }, [], true],
    [{ created: {} }, [], true],
    [{ created: { from: undefined, to: undefined } }, [], true],
    [{ attempts: {} }, [], true],
    [{ created: { from: now } }, [], false],
    [{ attempts: { min: 0 } }, [], false],
    [{ queueIds: ['a'] }, [], false],
    [{ queueIds: ['a'] }, ['queueIds'], true],
    [{ replayed: false }, [], false],
    [{ replayed: false }, ['replayed'], true],
    [{ payload: { kind: 'test', path: 'a', op: 'EXISTS', value: null } }, [], false],
  ])('the filter %j without %j matches everything: %j', (filter, ignored, expected) => {
    expect(matchesEverything(filter, ignored)).toBe(expected);
  });
});

describe('assertKeepable', () => {
  it.each<[string, object]>([
    ['NUL', { errorContains: 'a\0' }],
    ['a lone surrogate', { fingerprints: ['\ud800'] }],
    ['a long text', { errorContains: 'x'.repeat(1001) }],
    ['a long list', { queueIds: Array.from({ length: 101 }, () => 'a') }],
    ['no time', { dead: { from: new Date(Number.NaN) } }],
    ['NUL far inside', { payload: { kind: 'not', of: { kind: 'test', path: 'a', op: 'EQ', value: '\0' } } }],
  ])('refuses %s', (_what, filter) => {
    expect(() => assertKeepable(filter)).toThrow(JobferryError);
  });

  it('accepts everything else', () => {
    const payload = { kind: 'test', path: 'a', op: 'EQ', value: null };
    assertKeepable({ queueIds: ['a'], dead: { from: new Date(), to: undefined }, replayed: false, payload });
  });
});

describe('filterOf', () => {
  it('gives back what was kept as JSON', () => {
    const filter = { queueIds: ['a'], dead: { from: new Date(1) }, created: { to: new Date(2) }, attempts: { min: 1 } };
    expect(filterOf(JSON.parse(JSON.stringify(filter)))).toEqual(filter);
  });
});

describe('checkCanary', () => {
  const canary: CanaryJob = { id: 'c', status: 'pending', deadReason: null, lastError: null };
  it.each<[Partial<CanaryJob>, ReturnType<typeof checkCanary>]>([
    [{}, 'wait'],
    [{ status: 'processing' }, 'wait'],
    [{ status: 'awaiting_ack' }, 'wait'],
    [{ status: 'completed' }, 'go'],
    [{ status: null }, { failed: 'the canary job c was removed before it had completed' }],
    [{ status: 'dead', deadReason: 'cancelled', lastError: 'cancelled' }, { failed: 'the canary job c was cancelled' }],
    [
      { status: 'dead', deadReason: 'attempts_exhausted', lastError: 'HTTP 500' },
      { failed: 'the canary job c died (attempts_exhausted): HTTP 500' },
    ],
    [{ status: 'dead', deadReason: 'nacked', lastError: 'nacked' }, { failed: 'the canary job c died (nacked)' }],
    // The text of a nack, which may have parts of the payload.
    [
      { status: 'dead', deadReason: 'nacked', lastError: 'ada@example.com' },
      { failed: 'the canary job c died (nacked)' },
    ],
  ])('a canary with %j leads to %j', (changes, expected) => {
    expect(checkCanary({ ...canary, ...changes })).toEqual(expected);
  });
});
