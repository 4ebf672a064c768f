import { describe, expect, it } from 'vitest';
import {
  chosenAttempts,
  compareTexts,
  sentenceOfAnswers,
  sentenceOfComparison,
} from '../../packages/dashboard/features/jobs/model/compare.ts';
import { isSilent } from '../../packages/dashboard/words/cause.ts';
import { diffLines, foldEqual } from '../../packages/dashboard/words/diff.ts';

/** The difference between two payloads, or between the answers of two attempts. */

const SIGNS = { same: ' ', removed: '-', added: '+' };
const drawn = (from: string, to: string) =>
  diffLines([...from], [...to])
    .lines.map(({ change, text }) => `${SIGNS[change]}${text}`)
    .join('');

describe('the difference of lines', () => {
  it.each([
    ['', '', ''],
    ['abc', 'abc', ' a b c'],
    ['', 'ab', '+a+b'],
    ['ab', '', '-a-b'],
    ['abcde', 'abxde', ' a b-c+x d e'],
    ['abcd', 'bcde', '-a b c d+e'],
    ['aab', 'ab', ' a-a b'],
    ['xaybz', 'ab', '-x a-y b-z'],
  ])('turns %j into %j', (from, to, expected) => {
    expect(drawn(from, to)).toBe(expected);
  });

  it('gives back both texts, whatever they are', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < 200; round += 1) {
      const [from, to] = [0, 1].map(() => Array.from({ length: random(12) }, () => 'abc'[random(3)] ?? ''));
      const { lines, removed, added } = diffLines(from ?? [], to ?? []);
      const side = (without: string) => lines.filter(({ change }) => change !== without).map(({ text }) => text);
      expect([side('added'), side('removed')]).toEqual([from, to]);
      expect(removed - added).toBe((from?.length ?? 0) - (to?.length ?? 0));
    }
  });

  it('marks the part in which a line differs, without cutting a character', () => {
    const [from, to] = diffLines(['"id": 41, "😀"'], ['"id": 42, "😁"']).lines;
    expect(from?.text.slice(...(from.part ?? []))).toBe('1, "😀');
    expect(to?.text.slice(...(to.part ?? []))).toBe('2, "😁');
  });

  it('is bounded: of two long texts that have little in common, all lines differ', () => {
    const lines = (word: string) => Array.from({ length: 3000 }, (_, n) => `${word} ${n}`);
    const diff = diffLines(['first', ...lines('a'), 'last'], ['first', ...lines('b'), 'last']);
    expect(diff).toMatchObject({ isMatched: false, removed: 3000, added: 3000 });
    expect(diffLines(lines('a'), lines('a').with(1500, 'x'))).toMatchObject({ isMatched: true, removed: 1, added: 1 });
  });

  it('folds equal lines that are far from a change', () => {
    const from = Array.from({ length: 20 }, (_, n) => `line ${n}`);
    const shown = foldEqual(diffLines(from, from.with(10, 'other')).lines);
    expect(shown.map((line) => ('folded' in line ? line.folded : line.change))).toEqual([
      ...[7, 'same', 'same', 'same', 'removed', 'added', 'same', 'same', 'same', 6],
    ]);
  });
});

describe('a comparison', () => {
  it('compares JSON by members, with all digits, and not by the space between them', () => {
    const diff = compareTexts('{"id":900719925474099311,"a":1}', '{\n "id": 900719925474099312,\n "a": 1, "b": 2 }');
    expect(diff.lines.filter(({ change }) => change !== 'same').map(({ text }) => text)).toEqual([
      ...['  "id": 900719925474099311,', '  "id": 900719925474099312,', '  "b": 2'],
    ]);
    expect(compareTexts('{"a":1}', '{ "a": 1 }')).toMatchObject({ isJson: true, isEqual: false, removed: 0, added: 0 });
  });

  it('compares other text by lines', () => {
    expect(compareTexts('<p>\r\nNo\r\n</p>', '<p>\nYes\n</p>')).toMatchObject({ isJson: false, removed: 1, added: 1 });
    expect(compareTexts('', 'ok')).toMatchObject({ removed: 0, added: 1 });
  });

  it.each([
    ['{"a":1}', '{"a":1}', 'The payloads are equal, character by character.'],
    ['{"a":1}', '{"a": 1}', 'The payloads differ in the space between the values only.'],
    ['{"a":1}', '{"a":2}', 'The payloads differ in 1 line.'],
    ['{"a":1}', '{"b":1,"c":2}', 'The payloads differ in 2 lines.'],
  ])('has a sentence: %s and %s', (from, to, sentence) => {
    expect(sentenceOfComparison('The payloads', compareTexts(from, to)).replace('\u00a0', ' ')).toBe(sentence);
  });
});

describe('the answers to two attempts', () => {
  const failed = (code: number | null, responseBody: string | null = null) => ({
    status: 'FAILED' as const,
    error: code === null ? 'connection_refused' : `HTTP ${code}`,
    webhookStatusCode: code,
    responseBody,
  });
  const long = 'x'.repeat(4096);
  // The end cut a character of three bytes.
  const wide = '–'.repeat(1365);

  it.each([
    ['two refused connections', failed(null), failed(null), 'No answer came to either.'],
    ['one refused connection', failed(null), failed(500, 'no'), 'An answer came to one of them only.'],
    ['500 and 502', failed(500, 'no'), failed(502, 'no'), 'The bodies are equal, the codes differ.'],
    [
      '500 and 502 with two bodies',
      failed(500, 'a'),
      failed(502, 'b'),
      'The bodies differ in 1 line, and the codes differ.',
    ],
    ['500 and 502 without bodies', failed(500, ''), failed(502), 'Both answers have no body, the codes differ.'],
    ['500 without bodies', failed(500, ''), failed(500), 'The answers are equal: both without a body.'],
    [
      'long bodies',
      failed(500, long),
      failed(500, long),
      'The first 4 KiB of the bodies are equal, character by character.',
    ],
    [
      'long bodies and codes',
      failed(500, wide),
      failed(502, wide),
      'The first 4 KiB of the bodies are equal, the codes differ.',
    ],
    ['equal answers', failed(500, 'no'), failed(500, 'no'), 'The answers are equal, character by character.'],
  ])('are told so: %s', (_, from, to, sentence) => {
    const diff = compareTexts(from.responseBody ?? '', to.responseBody ?? '');
    expect(sentenceOfAnswers(from, to, diff).replaceAll('\u00a0', ' ')).toBe(sentence);
  });

  it('are missing after a failed probe, which is deferred with an error', () => {
    expect(isSilent({ ...failed(null), status: 'DEFERRED' })).toBe(true);
    expect(isSilent({ ...failed(429), status: 'DEFERRED' })).toBe(false);
    // An answer that asked for a hold by its body alone.
    expect(isSilent({ ...failed(null), error: null, status: 'DEFERRED' })).toBe(false);
  });
});

describe('the attempts to compare', () => {
  it('are those of the address, or else the last two', () => {
    expect(chosenAttempts('1,3', 4)).toEqual([1, 3]);
    for (const text of [null, '', '1', '0,2', '1,5', 'a,b', '1.5,2']) expect(chosenAttempts(text, 4)).toEqual([3, 4]);
    expect(chosenAttempts(null, 1)).toEqual([1, 1]);
  });
});
