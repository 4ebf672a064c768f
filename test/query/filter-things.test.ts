import { describe, expect, it } from 'vitest';
import { formatChip } from '../../packages/query/filter/engine.ts';
import { JOBS } from '../../packages/query/filter/jobs.ts';
import { meaningsOf } from '../../packages/query/filter/meanings.ts';
import { type Known, suggestionsFor } from '../../packages/query/filter/suggest.ts';
import { countedFor } from '../../packages/query/filter/value-counts.ts';
import { type KnownPath, likelyPaths } from '../../packages/query/filter/values.ts';

/** Nouns before a value, such as `customer id 731`, in the filter box and in `--filter`. */

const NOW = Date.parse('2026-11-26T13:30:00Z');
const NONE: Known = { queues: [], paths: [], values: [] };
const PATHS = [
  { value: 'customer.email', count: 90, isNumber: false },
  { value: 'customer.name', count: 90, isNumber: false },
  { value: 'orderNumber', count: 90, isNumber: false },
  { value: 'customer.id', count: 90, isNumber: true },
];
const ID = 'payload.customer.id:731,"731"';
const MAIL = 'payload.customer.email:eve.9@example.org';
const ORDER = 'payload.orderNumber:PO-88-3107';
const NAME = 'payload.customer.name:"Eve Adams"';

/** The look-ups of a text in a service where these terms are in 58 jobs each. */
const knownOf = (
  text: string,
  terms: readonly string[] = [ID, MAIL, ORDER, NAME],
  paths: readonly KnownPath[] = PATHS,
): Known => {
  const counted = countedFor(JOBS, text, paths).map((chip) => formatChip(JOBS, chip));
  const counts = new Map(counted.map((term) => [term, { count: terms.includes(term) ? 58 : 0, exact: true }]));
  return { ...NONE, paths, counts };
};
const firstOf = (text: string, known: Known) => suggestionsFor(JOBS, text, known, { now: NOW })[0];
const termsOfFirst = (text: string, known: Known) => {
  const { does } = firstOf(text, known) ?? {};
  return does !== undefined && 'chips' in does ? does.chips.map((chip) => formatChip(JOBS, chip)).join(' ') : null;
};
/** The conditions of the command line; null if it refuses a word. */
const meantBy = (text: string, known: Known) => {
  const all = meaningsOf(JOBS, text, known, NOW);
  if (all.some(({ chips }) => chips.length === 0)) return null;
  return all.flatMap(({ chips }) => chips.map((chip) => formatChip(JOBS, chip))).join(' ');
};

const both = (text: string, known = knownOf(text)) => [termsOfFirst(text, known), meantBy(text, known)];

describe('a thing and its value', () => {
  it.each([
    ['customer id 731', ID],
    ['customer number 731', ID],
    ['customer no. 731', ID],
    ['customer # 731', ID],
    ['customer #731', ID],
    ['customer id # 731', ID],
    ['id 731', ID],
    ['order number PO-88-3107', ORDER],
    ['order nr PO-88-3107', ORDER],
    ['failed customer id 731', `state:dead,retrying ${ID}`],
    ['order number PO-88-3107 failed', `${ORDER} state:dead,retrying`],
    ['customer name Eve Adams', NAME],
    ['failed orders of customer 731', `state:dead,retrying ${ID}`],
    ['orders of customer 731', ID],
    ['emails for eve.9@example.org', MAIL],
    ['mails to eve.9@example.org', MAIL],
    ['customer number: 731', ID],
    ['customer with the id 731', ID],
    ['customer 731 order PO-88-3107', `${ID} ${ORDER}`],
  ])('%j is %s, in the box and on the command line', (text, term) => expect(both(text)).toEqual([term, term]));

  it.each(['customer id', 'order customer', 'failed customer order', 'customer Bob', 'order number unknown'])(
    '%j has no value that is known, and becomes no condition on a path',
    (text) => {
      const [offered, meant] = both(text);
      expect(offered).not.toMatch(/payload\./);
      expect(meant).toBeNull();
    },
  );

  it('is searched in whole payloads if the paths of the thing do not have the value', () => {
    const text = 'customer number 4096';
    expect(both(text)).toEqual(['text:~4096', 'text:~4096']);
    expect(firstOf(text, knownOf(text))?.label).toBe('payload contains “4096”');
  });
});

describe('a noun that is the name of no path', () => {
  it.each([
    ['user 731', ID],
    ['user eve.9@example.org', MAIL],
    ['mail eve.9@example.org', MAIL],
    ['invoice PO-88-3107', ORDER],
    ['invoice no PO-88-3107', ORDER],
    ['user Eve Adams', NAME],
    ['failed user 731', `state:dead,retrying ${ID}`],
    ['user 731 failed', `${ID} state:dead,retrying`],
    ['why did 731 fail', `${ID} state:dead,retrying`],
    ['why did 731 fail?', `${ID} state:dead,retrying`],
    ['orders of user 731', ID],
  ])('leaves the value that was found: %j is %s', (text, term) => expect(both(text)).toEqual([term, term]));

  it('leaves a value by its form before the server has counted, and searches whole payloads for one that no job has', () => {
    expect(both('user 731', { ...NONE, paths: PATHS })).toEqual([ID, ID]);
    expect(both('user 4096')).toEqual(['text:~4096', 'text:~4096']);
  });

  it('does not count where its path takes no such value', () => {
    const paths = PATHS.filter(({ value }) => value !== 'customer.email' && value !== 'customer.name');
    const term = 'payload.orderNumber:eve.9@example.org';
    const text = 'customer eve.9@example.org';
    expect(both(text, knownOf(text, [term], paths))).toEqual([term, term]);
  });

  it.each([
    'user Bob',
    'not 731',
    'not customer 731',
    'customer 731 or 732',
    'over 731',
    'faild 731',
    'status 731',
    'code 731',
  ])('is not every word: %j has one that is not understood', (text) => {
    const [offered, meant] = both(text);
    expect(offered).not.toMatch(/payload\./);
    expect(meant).toBeNull();
  });
});

describe('punctuation around words', () => {
  it.each([
    ['order PO-88-3107?', ORDER],
    ['PO-88-3107?', ORDER],
    ['PO-88-3107.', ORDER],
    ['#731', ID],
    ['#731?', ID],
    ['failed #731', `state:dead,retrying ${ID}`],
    ['customer: 731', ID],
    ['customer 731, failed', `${ID} state:dead,retrying`],
    ['failed: customer 731.', `state:dead,retrying ${ID}`],
    ['customer Eve Adams?', NAME],
    ['failed, Eve Adams?', `state:dead,retrying ${NAME}`],
    ['Eve Adams, failed.', `${NAME} state:dead,retrying`],
    ['eve.9@example.org, failed?', `${MAIL} state:dead,retrying`],
    ['failed ?', 'state:dead,retrying'],
  ])('is left out: %j is %s', (text, term) => expect(both(text)).toEqual([term, term]));

  it('stays where it is of the value, or of what is typed', () => {
    const term = 'payload.customer.name:"Acme Inc."';
    for (const text of ['Acme Inc.', 'customer Acme Inc.', 'failed Acme Inc.'])
      expect(both(text, knownOf(text, [term]))[1]).toMatch(/"Acme Inc\."$/);
    const labels = suggestionsFor(JOBS, 'customer.', { ...NONE, paths: PATHS }, { now: NOW }).map(({ label }) => label);
    expect(labels.slice(0, 3)).toEqual(['customer.email', 'customer.name', 'customer.id']);
    expect(suggestionsFor(JOBS, 'state:', NONE, { now: NOW })[0]?.label).toMatch(/^state:./);
  });
});

describe('the paths that are searched', () => {
  const others = Array.from({ length: 63 }, (_, at) => ({ value: `meta.f${at}`, count: 99, isNumber: false }));
  const fetched = [...others, ...PATHS];

  it('are those that a word of the text is about, too, where others are more frequent', () => {
    const namesOf = (text: string) => likelyPaths(text, fetched).slice(40);
    expect(namesOf('customer 731').map(({ value }) => value)).toEqual([
      'customer.email',
      'customer.name',
      'customer.id',
    ]);
    expect(namesOf('failed: Orders, 731').map(({ value }) => value)).toEqual(['orderNumber']);
    expect(namesOf('731')).toEqual([]);
    const text = 'failed customer 731';
    const paths = likelyPaths(text, fetched);
    expect(paths.length).toBe(43);
    expect(both(text, knownOf(text, [ID], paths))).toEqual([`state:dead,retrying ${ID}`, `state:dead,retrying ${ID}`]);
  });
});
