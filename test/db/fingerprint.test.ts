import { beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture } from '../support/database-fixture.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});

async function fingerprint(reason: string, code: number | null, error: string | null): Promise<string | undefined> {
  const row = await fixture.db.one<{ f: string }>('select jobferry_fingerprint($1, $2, $3) as f', [
    reason,
    code,
    error,
  ]);
  return row?.f;
}

const sameFor = (one: string | null, other: string | null) =>
  Promise.all([fingerprint('nacked', 500, one), fingerprint('nacked', 500, other)]);

describe('dead letters are of one group when their errors differ in', () => {
  it.each([
    ['a number', 'order 7 not found', 'order 12 not found'],
    ['the length of a number', 'took 999 ms', 'took 10000 ms'],
    ['a fraction', 'took 1234.5 s', 'took 2 s'],
    ['a sign', 'balance is -5', 'balance is -17'],
    ['a UUID', 'no 6f9619ff-8b86-d011-b42d-00c04fc964ff', 'no 00000000-0000-4000-8000-0123456789ab'],
    ['an id of ours', 'job 01a1fe02dae30002925e5943 is gone', 'job 01a1fe02dae60003846e2681 is gone'],
    ['an id that happens to have no letters', 'job 012345678901234567890123', 'job 01a1fe02dae60003846e2681'],
    ['a short hexadecimal id', 'commit 3f2a', 'commit 9c1d77e'],
    ['an id with a prefix', 'no customer cus_4fd81', 'no customer cus_77aa01'],
    ['a ULID', 'event 01ARZ3NDEKTSV4RRFFQ69G5FAV', 'event 01HV7N9GQ3R8Z5K2M4P6T0W1XY'],
    ['upper and lower case', 'Bad Gateway', 'bad gateway'],
    ['an address', 'connect 10.0.0.1:5432', 'connect 192.168.17.4:80'],
    ['a time', 'expired at 2026-11-21T12:00:00Z', 'expired at 2025-01-01T00:30:15Z'],
    ['what comes after 200 characters', `${'word '.repeat(40)}one`, `${'word '.repeat(40)}two`],
    ['being nothing and being empty', null, ''],
  ])('%s', async (_what, one, other) => {
    const [first, second] = await sameFor(one, other);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(second).toBe(first);
  });
});

describe('dead letters are of different groups when their errors differ in', () => {
  it.each([
    ['a word', 'order not found', 'order not paid'],
    ['a word that could be hexadecimal', 'invalid facade', 'invalid decade'],
    ['a word of another language', 'Straße fehlt', 'Straße gesperrt'],
    ['a long word', 'internationalization failed', 'incomprehensibility failed'],
    ['the words around a number', '5 of 7 failed', '5 in 7 failed'],
    ['the place of a number', 'item 5', '5 item'],
  ])('%s', async (_what, one, other) => {
    const [first, second] = await sameFor(one, other);
    expect(second).not.toBe(first);
  });

  it('reason or status code', async () => {
    const all = await Promise.all([
      fingerprint('nacked', 500, 'x'),
      fingerprint('nacked', 502, 'x'),
      fingerprint('nacked', null, 'x'),
      fingerprint('attempts_exhausted', 500, 'x'),
    ]);
    expect(new Set(all).size).toBe(4);
  });
});

// Settles of all accounts use it, and like every statement they are cancelled after 4 s.
it.each([
  ['dashes and a letter', `${'-'.repeat(999)}g`],
  ['dashes and a digit', `${'-'.repeat(999)}1`],
  ['letters between dashes', `${'-a'.repeat(499)}1g`],
])('500 dead letters with %s fit into one statement', async (_what, text) => {
  const row = await fixture.db.one(
    `select count(jobferry_fingerprint('nacked', 500, $1::text || (n - n))) as errors,
            count(jobferry_answer_line(500, $1::text || (n - n))) as answers
       from generate_series(1, 500) n`,
    [text],
  );
  expect(row).toEqual({ errors: 500, answers: 500 });
});
