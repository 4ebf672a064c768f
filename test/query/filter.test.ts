import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEAD_LETTERS } from '../../packages/query/filter/dead-letters.ts';
import {
  addChip,
  formatFilter,
  isValid,
  labelOf,
  parseFilter,
  permitted,
  removeChip,
  setChip,
  shownChips,
  toApi,
} from '../../packages/query/filter/engine.ts';
import { JOBS } from '../../packages/query/filter/jobs.ts';
import { NUMBERS, PART, PART_OR_WHOLE, TEXTS, TIMES, WHOLE } from '../../packages/query/filter/kinds.ts';
import { PAYLOAD } from '../../packages/query/filter/payload.ts';
import { toSearch } from '../../packages/query/filter/search.ts';
import type { Chip, Filter, Table } from '../../packages/query/filter/table.ts';

const zone = process.env.TZ;
// Chips show times of the reader's zone as well.
beforeAll(() => {
  process.env.TZ = 'UTC';
});
afterAll(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

import { NO_SEARCH } from '../../packages/query/words/rights.ts';

const CONTEXT = { now: Date.parse('2026-11-12T12:00:00Z'), queueIds: ['id1'] };

/** Any text that can be typed or pasted: spaces, quotes, commas, operators, emoji. */
const text = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.stringMatching(/^[ ",:!~><*.\\a-z0-9-]{1,12}$/),
  fc.constantFrom('true', 'null', '42', '1e3', '-0.5', '"', '\\', '..', 'a b', 'state:dead'),
);
const scalar = fc.oneof(
  text,
  fc.constant(''),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  fc.boolean(),
  fc.constant(null),
);
const some = <Value>(value: fc.Arbitrary<Value>) => fc.uniqueArray(value, { minLength: 1, maxLength: 4 });
const bound = fc.oneof(
  fc
    .tuple(fc.constantFrom('-', '+'), fc.nat(700_000), fc.constantFrom('s', 'm', 'h', 'd'))
    .map((parts) => parts.join('')),
  fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).chain((date) => {
    const iso = date.toISOString();
    return fc.constantFrom(iso, iso.slice(0, 10), `${iso.slice(0, 16)}Z`, `${iso.slice(0, 19)}Z`);
  }),
);
const code = fc.integer({ min: 100, max: 599 }).map(String);

const BY_KIND = new Map<unknown, fc.Arbitrary<unknown>>([
  [TEXTS, some(text)],
  [PART, text],
  [WHOLE, fc.oneof(text, fc.constant(''))],
  [PART_OR_WHOLE, fc.oneof(fc.record({ text }), fc.record({ text, isWhole: fc.constant(true) }))],
  [
    NUMBERS,
    fc
      .record({ min: fc.option(fc.nat(9999)), max: fc.option(fc.nat(9999)) })
      .filter(({ min, max }) => (min !== null || max !== null) && (min === null || max === null || min <= max)),
  ],
  [
    TIMES,
    fc.oneof(
      bound.map((from) => ({ from, to: null })),
      bound.map((to) => ({ from: null, to })),
      bound.map((both) => ({ from: both, to: both })),
      fc.constantFrom(
        { from: '-2d', to: '-1h' },
        { from: '2026-11-12', to: '2026-11-13' },
        { from: '2026-11-12', to: '-0s' },
      ),
    ),
  ],
  [
    PAYLOAD,
    fc.oneof(
      fc.record({ path: text, op: fc.constant('EQ'), values: some(scalar) }),
      fc.record({ path: text, op: fc.constantFrom('NEQ', 'CONTAINS', 'GT', 'LT'), values: fc.tuple(scalar) }),
      fc.record({ path: text, op: fc.constant('EXISTS'), values: fc.constant([]) }),
    ),
  ],
]);
const BY_WORD: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  code: some(code),
  tag: some(fc.stringMatching(/^[a-z0-9._-]{1,32}$/)),
  ever: some(fc.oneof(code, fc.constantFrom('0', '4xx', '5xx'))),
  replayed: fc.constantFrom('no', 'yes', 'any'),
  action: fc.stringMatching(/^[0-9a-f]{24}$/),
  cause: some(fc.stringMatching(/^[0-9a-f]{16}$/)),
};

/** Filters as the filter box makes them: one chip after the other. Names come from the examples of their word. */
function filtersOf(table: Table): fc.Arbitrary<Filter> {
  const chips = Object.entries(table.words).map(([word, { kind, examples = [] }]) => {
    const value = BY_WORD[word] ?? BY_KIND.get(kind) ?? some(fc.constantFrom(...(examples as readonly string[])));
    return value.map((one): Chip => ({ word, value: one }));
  });
  const add = (all: Filter, chip: Chip) => addChip(table, all, chip);
  return fc.array(fc.oneof(...chips), { maxLength: 6 }).map((all) => all.reduce(add, parseFilter(table, '')));
}

const TABLES = { jobs: JOBS, dead: DEAD_LETTERS } satisfies Record<string, Table>;
type ListName = keyof typeof TABLES;

describe.each(Object.entries<Table>(TABLES))('a filter of %s', (_name, table) => {
  const inOrder = (filter: Filter) => filter.toSorted((one, other) => (one.word < other.word ? -1 : 1));

  it('is the same after the text and the URL, whatever it is', () => {
    fc.assert(
      fc.property(filtersOf(table), (filter) => {
        const search = toSearch({ q: formatFilter(table, filter), after: null });
        const fromUrl = new URL(`http://host/jobs${search}`).searchParams.get('q') ?? '';
        // A default has no text, so it comes first again.
        expect(inOrder(parseFilter(table, fromUrl))).toEqual(inOrder(filter));
        expect(toApi(table, parseFilter(table, fromUrl), CONTEXT)).toEqual(toApi(table, filter, CONTEXT));
      }),
      { numRuns: 1500 },
    );
  });

  it('never fails on a text, and keeps it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (anything) => {
        const filter = parseFilter(table, anything);
        expect(parseFilter(table, formatFilter(table, filter))).toEqual(filter);
        for (const chip of filter) labelOf(table, chip);
      }),
    );
  });

  it.each(['constructor', '__proto__', 'toString'])('knows no word %s, which every object inherits', (word) => {
    expect(parseFilter(table, `${word}:a`).at(-1)).toMatchObject({ word: 'unknown' });
    expect(parseFilter(table, `reason:${word}`).at(-1)).toMatchObject({ word: 'unknown' });
  });

  it('has a chip with the reason in place of a condition that the person may not use', () => {
    const all = 'queue:orders error:~timeout payload.customer.id:42';
    const rights = { role: 'VIEWER', mayViewPayloads: false } as const;
    const filter = parseFilter(table, all);
    expect(permitted(table, filter, rights).slice(-2)).toEqual([
      { word: 'unknown', text: 'error:~timeout', problem: NO_SEARCH },
      { word: 'unknown', text: 'payload.customer.id:42', problem: NO_SEARCH },
    ]);
    expect(formatFilter(table, permitted(table, filter, rights))).toBe(all);
    expect(permitted(table, filter, { ...rights, mayViewPayloads: true })).toEqual(filter);
  });
});

describe('a chip', () => {
  it.each<[list: ListName, text: string, problem: string]>([
    ['jobs', 'colour:red', 'There is no filter “colour”.'],
    ['jobs', '42', '“42” is not a condition. Write one such as error:timeout.'],
    ['jobs', 'payload.a', 'A path, a colon and a value are such as payload.customer.id:42.'],
    ['jobs', 'state:', 'A value is missing.'],
    ['jobs', 'error:~', 'A text is missing.'],
    ['jobs', 'queue:"a', 'Quotes stand around a whole value.'],
    ['jobs', 'error:"a', 'The quotes are not closed.'],
    ['jobs', 'code:abc', 'A code is such as 500, 5xx, or 0 for no answer.'],
    ['jobs', 'action:1', 'An action has an id of 24 digits of 0-9 and a-f.'],
    ['jobs', 'holds:many', 'holds are such as 3, >2 or 2..4.'],
    ['jobs', 'attempts:4..2', 'A range is such as 2..4.'],
    ['jobs', 'attempts:<0', 'No job has fewer than 0 attempts.'],
    ['jobs', 'created:noon', 'A time is such as yesterday, >-2h, <2026-11-12 or 2026-11-12..2026-11-13.'],
    ['jobs', 'created:2026-02-30', 'A time is such as yesterday, >-2h, <2026-11-12 or 2026-11-12..2026-11-13.'],
    ['jobs', 'created:>-999999d', 'A time is at most 700000 days from now.'],
    ['jobs', 'scheduled:<+700001d', 'A time is at most 700000 days from now.'],
    ['jobs', 'created:0000-12-31..-1h', 'A time is in the years 0001 to 9999.'],
    ['jobs', 'created:2026-11-13..2026-11-12', 'The second time is before the first one.'],
    ['dead', 'died:-1h..-2h', 'The second time is before the first one.'],
    ['jobs', '-state:dead', 'A condition cannot be negated.'],
    ['jobs', 'payload:x', 'A path begins with a dot, as in payload.customer.id:42.'],
    ['jobs', 'died:>-1h', 'Jobs cannot be filtered by “died”.'],
    ['jobs', 'payload.x:', 'A value is missing.'],
    ['jobs', 'payload.x:*1', '`*` asks whether the path is there, and takes no value.'],
    ['jobs', 'payload.x:!1,2', 'Only = takes several values.'],
    ['jobs', 'payload.x:{"a":1}', 'A value is a text, a number, true, false or null. In quotes it is a text.'],
    ['jobs', 'payload.x:[1,2]', 'A value is a text, a number, true, false or null. In quotes it is a text.'],
    ['jobs', 'payload.x:a"b"', 'Quotes stand around a whole value.'],
    ['jobs', 'payload.x:"a"b', 'Quotes stand around a whole value.'],
    ['jobs', 'queue:"a"b,c', 'Quotes stand around a whole value.'],
    ['dead', 'state:dead', 'Dead letters cannot be filtered by “state”.'],
    ['dead', 'key:~a', 'Dead letters cannot be filtered by “key”.'],
    ['dead', 'colour:red', 'There is no filter “colour”.'],
    ['dead', 'replayed:maybe', 'It is replayed:no, replayed:yes or replayed:any.'],
    ['dead', 'cause:xyz', 'A cause is 16 hexadecimal digits.'],
    ['dead', 'code:5xx', 'A code of dead letters is such as 500 or 500,502.'],
    ['dead', 'code:0', 'A code of dead letters is such as 500 or 500,502.'],
    ['dead', 'died:noon', 'A time is such as yesterday, >-2h, <2026-11-12 or 2026-11-12..2026-11-13.'],
    ['dead', 'answer:"a', 'The quotes are not closed.'],
  ])('a filter of %s keeps the text %s that is no condition, and says: %s', (list, text, problem) => {
    const table: Table = TABLES[list];
    const filter = parseFilter(table, `code:500 ${text}`);
    expect(filter.at(-1)).toEqual({ word: 'unknown', text, problem });
    expect(isValid(filter)).toBe(false);
    expect(formatFilter(table, filter)).toBe(`code:500 ${text}`);
  });

  it('a chip with an unknown name lists the names that there are', () => {
    const problem = (text: string) =>
      parseFilter(JOBS, text).flatMap((chip) => ('problem' in chip ? chip.problem : []));
    expect(problem('state:sleeping')[0]).toMatch(/^There is no state “sleeping”. There is due, scheduled, .*, dead\.$/);
    expect(problem('reason:boredom')[0]).toMatch(/^There is no reason “boredom”. There is attempts-exhausted, /);
    expect(problem('waits:rain')[0]).toMatch(/^There is no wait “rain”. There is turn, /);
  });

  it.each([
    ['9007199254740993', 'unknown'],
    ['1e400', 'unknown'],
    ['0.12345678901234567890', 'unknown'],
    ['9007199254740992', 'payload'],
    ['-1.50e3', 'payload'],
    ['0.1', 'payload'],
    ['"9007199254740993"', 'payload'],
  ])('has no other number than the one that was typed: %s', (value, word) => {
    expect(parseFilter(JOBS, `payload.id:${value}`)[0]?.word).toBe(word);
  });

  it.each<[list: ListName, text: string, label: string]>([
    ['jobs', 'state:dead,awaiting-ack', 'state dead, awaiting ack'],
    ['jobs', 'ever:5xx', 'ever answered 5xx'],
    ['jobs', 'waits:queue-hold', 'waits for queue hold'],
    ['jobs', 'text:~a', 'payload contains “a”'],
    ['jobs', 'key:=a', 'key is “a”'],
    ['jobs', 'attempts:>2', 'attempts ≥ 3'],
    ['jobs', 'attempts:<=2', 'attempts ≤ 2'],
    ['jobs', 'holds:2..4', 'holds 2 to 4'],
    ['jobs', 'action:01a1cfa459463c7ed8a1f07c', 'action …1f07c'],
    ['jobs', 'payload.id:42', 'id = 42'],
    ['jobs', 'payload.id:"42"', 'id = "42"'],
    ['jobs', 'payload.id:true,"true"', 'id = true or "true"'],
    ['jobs', 'payload.id:a', 'id = a'],
    ['jobs', 'payload.id:"[1]"', 'id = [1]'],
    ['jobs', 'payload.id:*', 'id is there'],
    ['jobs', 'created:>-2h', 'created last 2 h'],
    ['jobs', 'created:2026-11-22', 'created 2026-11-22 UTC'],
    ['jobs', 'created:2026-11-22..2026-11-23', 'created 2026-11-22 UTC to 2026-11-23 UTC'],
    ['jobs', 'created:>2026-11-22T10:00Z', 'created after 2026-11-22 10:00 UTC'],
    ['jobs', 'scheduled:<+1h', 'scheduled before in 1 h'],
    ['jobs', 'error:~gpj.\u202etxt', 'error contains “gpj.[U+202E]txt”'],
    ['dead', 'answer:""', 'answer none'],
    ['dead', 'answer:"pool exhausted"', 'answer “pool exhausted”'],
    ['dead', 'cause:bc03a4af6c368fe6', 'cause …68fe6'],
    ['dead', 'died:>-1d', 'died last 1 d'],
  ])('the chip of %s and %s has the label: %s', (list, text, label) => {
    const chip = parseFilter<Table>(TABLES[list], text).at(-1) as Chip;
    expect(Object.values(labelOf(TABLES[list], chip)).join(' ')).toBe(label);
  });

  it('a chip adds its values to those of its word, and a link takes their place', () => {
    const text = (table: Table, all: string) => formatFilter(table, parseFilter(table, all));
    const filter = parseFilter(DEAD_LETTERS, 'code:500 queue:a code:502');
    const narrowed = setChip(filter, { word: 'queue', value: ['b'] });
    expect(formatFilter(DEAD_LETTERS, narrowed)).toBe('code:500,502 queue:b');
    for (const table of [JOBS, DEAD_LETTERS]) {
      expect(text(table, 'code:500 queue:a code:502')).toBe('code:500,502 queue:a');
      expect(text(table, 'error:~a error:~b')).toBe('error:~b');
      expect(text(table, 'payload.a:1 payload.b:2 payload.a:3')).toBe('payload.a:1,3 payload.b:2');
      expect(text(table, 'payload.a:>1 payload.a:<9')).toBe('payload.a:>1 payload.a:<9');
    }
  });

  it('the chip of a default is shown, has no text, and leaves "any" in its place when removed', () => {
    const filter = parseFilter(DEAD_LETTERS, 'code:500');
    expect(shownChips(DEAD_LETTERS, filter).map(({ word }) => word)).toEqual(['replayed', 'code']);
    expect(formatFilter(DEAD_LETTERS, filter)).toBe('code:500');
    const next = removeChip(DEAD_LETTERS, filter, filter[0] as Chip<typeof DEAD_LETTERS>);
    expect(shownChips(DEAD_LETTERS, next).map((chip) => labelOf(DEAD_LETTERS, chip))).toEqual([
      { key: 'code', value: '500' },
    ]);
    expect(formatFilter(DEAD_LETTERS, next)).toBe('replayed:any code:500');
  });
});

describe('a synonym', () => {
  it('is one row of a table: it stands for one or more names', () => {
    expect(formatFilter(JOBS, parseFilter(JOBS, 'state:pending,ACK'))).toBe(
      'state:due,scheduled,retrying,held,awaiting-ack',
    );
  });
});
