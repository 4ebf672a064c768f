import { describe, expect, it } from 'vitest';
import {
  attemptListOf,
  sentenceOfAttempts,
  toAttemptFilter,
} from '../../src/dashboard/features/jobs/model/attempt-list.ts';
import { attemptsPath } from '../../src/dashboard/filter/links.ts';
import { textOfPhrase } from '../../src/dashboard/words/phrase.ts';

const NOW = Date.parse('2026-11-12T12:00:00Z');
const VIEW = { now: NOW, zone: 'utc' } as const;
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const pathOf = (list: object) => attemptsPath({ ...list });
const listOf = (search: string) => attemptListOf(new URLSearchParams(search));

describe('a list of attempts', () => {
  it('stands in its address', () => {
    const path = '/jobs/attempts?queue=a+b&answer=card+declined&code=5xx&since=1h&took=5s&order=latest';
    expect(pathOf(listOf(path.split('?')[1] ?? ''))).toBe(path);
    expect(pathOf(listOf('code=9xx&since=toString&took=2s&order=up&queue='))).toBe('/jobs/attempts');
  });

  it('is a filter of the API', () => {
    expect(toAttemptFilter(listOf(''), null, NOW)).toEqual({ at: { from: '2026-11-11T12:00:00.000Z' } });
    expect(toAttemptFilter(listOf('since=1h&code=5xx&took=1s&answer=a b&queue=q'), 'id', NOW)).toEqual({
      at: { from: '2026-11-12T11:00:00.000Z' },
      queueIds: ['id'],
      webhookStatusClasses: [5],
      durationMs: { min: 1001 },
      responseContains: 'a b',
    });
    expect(toAttemptFilter(listOf('code=0'), null, NOW)).toMatchObject({ webhookStatusClasses: [0] });
    expect(toAttemptFilter(listOf('code=429'), null, NOW)).toMatchObject({ webhookStatusCodes: [429] });
    expect(toAttemptFilter(listOf('code=busy'), null, NOW)).toMatchObject({ webhookStatusCodes: [429, 503, 529] });
  });

  it('is a sentence', () => {
    const first = { durationMs: 14_800, at: '2026-11-12T11:59:00Z' };
    const sentence = (count: number, exact: boolean, search = '') =>
      plain(textOfPhrase(sentenceOfAttempts({ count, exact }, first, listOf(search), VIEW)));
    expect(sentence(1204, true)).toBe('1 204 attempts match. The slowest took 14.8 s.');
    expect(sentence(10_000, false)).toBe('10 000+ attempts match. The slowest took 14.8 s.');
    expect(sentence(1, true, 'order=latest')).toBe('1 attempt matches. The last one ended at 11:59:00.');
    expect(textOfPhrase(sentenceOfAttempts({ count: 0, exact: true }, undefined, listOf(''), VIEW))).toBe(
      'No attempt matches.',
    );
  });
});
