import { describe, expect, it } from 'vitest';
import { inWords, reversalOf, whyNot } from '../../packages/dashboard/features/queues/model/queue-changes.ts';
import {
  type Breaker,
  inputOf,
  type Settings,
  shownBreaker,
} from '../../packages/dashboard/features/queues/model/queue-settings.ts';
import type { Entry } from '../../packages/dashboard/words/queue-actions.ts';
import { SHOWN_DEFAULTS } from '../support/shown-settings.ts';

const QUEUE: Settings & { breaker: Breaker | null } = {
  ...SHOWN_DEFAULTS,
  webhookUrl: 'https://b.example/',
  mode: 'ACK',
  concurrency: 9,
  backoffType: 'FIXED',
  tags: [],
  breaker: null,
};
const entry = (before: object, after: object, action = 'queue.update'): Entry => ({
  action,
  targetType: 'queue',
  targetId: 'a1',
  targetName: 'orders',
  before,
  after,
});
const words = (change: Entry) => inWords(change).map(({ label, before, after }) => [label, before, after]);

describe('a change of a queue', () => {
  it('is in the words of its settings', () => {
    expect(words(entry({ mode: 'standard', rateLimitMax: 5 }, { mode: 'ack', rateLimitMax: null }))).toEqual([
      ['A 2xx answer means', 'the job is completed', 'received; a worker reports later'],
      ['Rate limit', '5', 'no limit'],
    ]);
    expect(words(entry({ dlqEnabled: true }, { dlqEnabled: false }))).toEqual([
      ['When a job dies', 'keep a dead letter', 'keep nothing'],
    ]);
    expect(words(entry({ pausedBy: null }, { pausedBy: 'sam' }, 'queue.pause'))).toEqual([]);
    expect(words(entry({}, { takesOverAt: '2026-11-12T17:11:27.076Z', enabled: true }, 'queue.rotate_secret'))).toEqual(
      [
        ['The new secret signs alone from', null, '2026-11-12 17:11:27 UTC'],
        ['enabled', null, 'on'],
      ],
    );
  });

  it('is reverted as far as nothing was changed since', () => {
    const change = entry(
      { mode: 'standard', concurrency: 5, maxAttempts: 3 },
      { mode: 'ack', concurrency: 8, maxAttempts: 4 },
    );
    const back = reversalOf(change, QUEUE);
    expect(back?.changes).toMatchObject([
      { name: 'mode', from: 'received; a worker reports later', to: 'the job is completed', value: 'STANDARD' },
    ]);
    expect(inputOf(back?.changes ?? [])).toEqual({ mode: 'STANDARD' });
    // Its concurrency is neither 5 nor 8 by now; the attempts are as before already.
    expect(back?.newer).toEqual([{ label: 'Concurrency', present: '9' }]);
    expect(whyNot(change, back)).toBeNull();
  });

  it('is reverted with the tags that it took away', () => {
    const change = entry({ tags: ['a', 'b'] }, { tags: [] });
    expect(reversalOf(change, QUEUE)).toMatchObject({ changes: [{ name: 'tags', value: ['a', 'b'] }], newer: [] });
    expect(reversalOf(change, { ...QUEUE, tags: ['a', 'b'] })).toEqual({ changes: [], newer: [] });
    expect(reversalOf(change, { ...QUEUE, tags: ['c'] })?.newer).toMatchObject([{ label: 'Tags' }]);
  });

  it('has the breaker in words, and puts it back unless it was changed again', () => {
    const set = entry({ breaker: null }, { breaker: { failures: 10, seconds: 120 } }, 'queue.set_breaker');
    const text = shownBreaker({ failures: 10, seconds: 120 });
    expect(text.replace(/\s/g, ' ')).toBe('after 10 failed answers in a row, or when all answers of 2 min have failed');
    expect(words(set)).toEqual([['Breaker', 'none', text]]);
    // The state of a breaker is not a setting, so that it may change.
    const open = { failures: 10, seconds: 120, failedInRow: 7 };
    expect(reversalOf(set, { ...QUEUE, breaker: open })).toEqual({
      changes: [{ name: 'breaker', label: 'Breaker', when: 'now', value: null, from: text, to: 'none' }],
      newer: [],
    });
    const removed = entry({ breaker: { seconds: 60 } }, { breaker: null }, 'queue.set_breaker');
    expect(reversalOf(removed, QUEUE)?.changes).toMatchObject([{ value: { failures: null, seconds: 60 } }]);
    const other = reversalOf(set, { ...QUEUE, breaker: { failures: 3, seconds: null } });
    expect(other).toEqual({
      changes: [],
      newer: [{ label: 'Breaker', present: expect.stringMatching(/^after 3\sfailed answers/) }],
    });
    expect(whyNot(set, other)).toBe('This was changed again since.');
    expect(whyNot(set, reversalOf(set, QUEUE))).toBe('The queue already has the former values.');
  });

  it('says in words that Jobferry opened and closed the breaker', () => {
    const opened = {
      failed: 10,
      failedSince: '2026-11-12T17:11:20.000Z',
      error: 'HTTP 500',
      nextProbeAt: '2026-11-12T17:11:37.076Z',
    };
    expect(words({ ...entry({}, opened, 'queue.open_breaker'), before: null })).toEqual([
      ['Failed answers in a row', null, '10'],
      ['Failed since', null, '2026-11-12 17:11:20 UTC'],
      ['The last answer', null, 'HTTP 500'],
      ['Next probe', null, '2026-11-12 17:11:37 UTC'],
    ]);
    const closed = entry({ openedAt: '2026-11-12T17:11:27.076Z', failedProbes: 2 }, {}, 'queue.close_breaker');
    expect(words({ ...closed, after: null })).toEqual([
      ['Was open since', null, '2026-11-12 17:11:27 UTC'],
      ['Failed probes', null, '2'],
    ]);
  });

  it('says how many jobs became due when a hold was ended', () => {
    const heldUntil = '2026-11-12T17:11:27.076Z';
    expect(words(entry({ heldUntil }, { heldUntil: null, jobs: 2 }, 'queue.end_hold'))).toEqual([
      ['Held until', '2026-11-12 17:11:27 UTC', '–'],
      ['Jobs that became due', null, '2'],
    ]);
  });

  it('says why it has no way back', () => {
    const why = (change: Entry) => whyNot(change, reversalOf(change, QUEUE));
    expect(why(entry({ concurrency: 5 }, { concurrency: 8 }))).toBe('This was changed again since.');
    expect(why(entry({ concurrency: 9 }, { concurrency: 8 }))).toBe('The queue already has the former values.');
    expect(why(entry({}, {}, 'queue.rotate_secret'))).toBe('A rotation cannot be reverted. Rotate the secret again.');
    expect(why(entry({}, {}, 'queue.pause'))).toBeNull();
    expect(reversalOf(entry({ concurrency: 5 }, { concurrency: 9 }, 'queue.create'), QUEUE)).toBeNull();
  });
});
