import { describe, expect, it } from 'vitest';
import {
  type Edits,
  FIELDS,
  inputOf,
  review,
  type Settings,
  sentenceOfReview,
} from '../../packages/dashboard/features/queues/model/queue-settings.ts';
import { SHOWN_DEFAULTS } from '../support/shown-settings.ts';

const settings: Settings = {
  ...SHOWN_DEFAULTS,
  webhookUrl: 'https://example.com/hooks',
  concurrency: 20,
  tags: ['eu', 'mail'],
};
const changesOf = (edits: Edits) => review(settings, edits).changes;
const sentence = (edits: Edits) => sentenceOfReview(review(settings, edits));

describe('the review', () => {
  it('has what is and what will be, with the time at which it takes effect', () => {
    expect(
      changesOf({ concurrency: '30', backoffDelay: '300', rateLimitMax: '100', dlqEnabled: 'false' }),
    ).toMatchObject([
      { name: 'concurrency', from: '20', to: '30', when: 'now', value: 30 },
      { name: 'rateLimitMax', from: 'no limit', to: '100', when: 'now', value: 100 },
      { name: 'backoffDelay', from: '2\u00a0s', to: '5\u00a0min', when: 'published', value: 300 },
      { name: 'dlqEnabled', from: 'keep a dead letter', to: 'keep nothing', when: 'now', value: false },
    ]);
  });

  it('takes tags in any order, with spaces or commas between them', () => {
    expect(changesOf({ tags: 'mail, eu  mail' })).toEqual([]);
    expect(changesOf({ tags: 'us' })).toMatchObject([{ from: 'eu mail', to: 'us', value: ['us'] }]);
    expect(changesOf({ tags: ' ' })).toMatchObject([{ to: 'none', value: [] }]);
    expect([...review(settings, { tags: 'Mail' }).problems.keys()]).toEqual(['tags']);
    expect([...review(settings, { tags: [...'abcdefghijk'].join(' ') }).problems.values()]).toEqual([
      'At most 10 tags.',
    ]);
  });

  it('leaves out what means the same as before', () => {
    expect(changesOf({ concurrency: ' 20 ', rateLimitMax: '', backoffDelay: '2.0', mode: 'STANDARD' })).toEqual([]);
  });

  it('says what is wrong with a text', () => {
    const { problems } = review(settings, {
      concurrency: '0',
      maxAttempts: '3.5',
      ackTimeout: 'soon',
      webhookUrl: 'ftp://example.com',
      rateLimitMax: '',
    });
    expect([...problems.keys()]).toEqual(['webhookUrl', 'ackTimeout', 'concurrency', 'maxAttempts']);
    expect(problems.get('concurrency')).toBe('A whole number from 1 to 500.');
    expect(review(settings, { rateLimitMax: '0' }).problems.get('rateLimitMax')).toBe(
      'A whole number of at least 1, or nothing.',
    );
  });

  it('sends the changed settings only', () => {
    expect(inputOf(changesOf({ concurrency: '30', maxAttempts: '3', rateLimitMax: '' }))).toEqual({ concurrency: 30 });
  });

  it('knows every setting of the form', () => {
    expect(FIELDS.map(({ name }) => name).sort()).toEqual(Object.keys(settings).sort());
  });
});

describe('the first line', () => {
  it.each<[string, Edits]>([
    ['Change a setting to see when it takes effect.', {}],
    ['1 setting changes immediately.', { concurrency: '30' }],
    ['2 settings change for jobs published from now on.', { maxAttempts: '5', backoffDelay: '4' }],
    [
      '3 settings change: 1 immediately, 1 with the next delivery, 1 for jobs published from now on.',
      { concurrency: '30', mode: 'ACK', maxAttempts: '5' },
    ],
    ['1 setting is invalid.', { concurrency: '0', maxAttempts: '5' }],
    ['2 settings are invalid.', { concurrency: '0', maxAttempts: '99' }],
  ])('says %j', (expected, edits) => {
    expect(sentence(edits).replaceAll('\u00a0', ' ')).toBe(expected);
  });
});
