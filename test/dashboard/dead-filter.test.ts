import { describe, expect, it } from 'vitest';
import {
  addDeadChip,
  type DeadFilter,
  formatDeadChip,
  formatDeadFilter,
  isDefaultFilter,
  isShownChip,
  isValidDeadFilter,
  labelOfDeadChip,
  parseDeadFilter,
  parseDeadTerm,
  removeDeadChip,
  toDeadLetterFilter,
} from '../../src/dashboard/filter/dead/filter.ts';
import { pathOfSelection } from '../../src/dashboard/filter/dead/selection.ts';
import { deadSuggestions } from '../../src/dashboard/filter/dead/suggest.ts';
import type { Known } from '../../src/dashboard/filter/suggest.ts';
import { completionOf } from '../../src/dashboard/filter/suggestion.ts';

const NOW = Date.parse('2026-11-12T12:00:00Z');
const FULL =
  'queue:orders,"a b" reason:nacked,ack-timeout error:~"pool exhausted" code:500,502 died:>-2h cause:bc03a4af6c368fe6';

describe('the filter of dead letters', () => {
  it('means those that were not replayed, unless it says otherwise', () => {
    expect(toDeadLetterFilter(parseDeadFilter(''), [], NOW)).toEqual({ replayed: false });
    expect(toDeadLetterFilter(parseDeadFilter('replayed:yes'), [], NOW)).toEqual({ replayed: true });
    expect(toDeadLetterFilter(parseDeadFilter('replayed:any'), [], NOW)).toEqual({});
    expect(isDefaultFilter(parseDeadFilter(''))).toBe(true);
    expect(isDefaultFilter(parseDeadFilter('replayed:any'))).toBe(false);
  });

  it('knows no reason of the name of a property of every object', () => {
    expect(parseDeadTerm('reason:constructor').word).toBe('unknown');
  });

  it('is the same after it stood in the URL', () => {
    for (const text of [
      'payload.customer.id:42 payload.total:>400 payload.total:<900',
      'answer:"pool exhausted"',
      'answer:""',
      '',
      FULL,
      'replayed:any',
      'replayed:yes code:503',
      'died:2026-11-12..2026-11-13',
      'state:dead x:1',
    ]) {
      const filter = parseDeadFilter(text);
      expect(parseDeadFilter(formatDeadFilter(filter))).toEqual(filter);
    }
  });

  it('has each member of the API, with names as ids and times as of now', () => {
    expect(toDeadLetterFilter(parseDeadFilter(FULL), ['id1', 'id2'], NOW)).toEqual({
      replayed: false,
      queueIds: ['id1', 'id2'],
      reasons: ['NACKED', 'ACK_TIMEOUT'],
      errorContains: 'pool exhausted',
      webhookStatusCodes: [500, 502],
      dead: { from: '2026-11-12T10:00:00.000Z' },
      fingerprints: ['bc03a4af6c368fe6'],
    });
  });

  it('has conditions on payloads and on the answer', () => {
    expect(toDeadLetterFilter(parseDeadFilter('payload.customer.id:42 answer:""'), [], NOW)).toEqual({
      replayed: false,
      answers: [''],
      payload: { path: 'customer.id', op: 'EQ', value: 42 },
    });
    const two = toDeadLetterFilter(parseDeadFilter('payload.a:1 payload.b:2 payload.a:3'), [], NOW);
    expect(two.payload).toEqual({
      and: [
        { path: 'a', op: 'EQ', value: 3 },
        { path: 'b', op: 'EQ', value: 2 },
      ],
    });
  });

  it.each([
    'replayed:maybe',
    'reason:boredom',
    'code:5xx',
    'code:0',
    'died:noon',
    'cause:xyz',
    'state:dead',
    'timeout',
    'key:~a',
  ])('says of “%s” that it is no condition', (term) => {
    const chip = parseDeadTerm(term);
    expect(chip.word).toBe('unknown');
    expect(isValidDeadFilter([chip])).toBe(false);
  });

  it('takes "not replayed" away as any other chip', () => {
    const filter = parseDeadFilter('code:500');
    const [replayed] = filter;
    const next = removeDeadChip(filter, replayed as DeadFilter[number]);
    expect(next.filter(isShownChip).map(labelOfDeadChip)).toEqual([{ key: 'code', value: '500' }]);
    expect(formatDeadFilter(next)).toBe('replayed:any code:500');
  });

  it('has one chip for each word', () => {
    const filter = ['code:500', 'code:502'].map(parseDeadTerm).reduce(addDeadChip, [] as DeadFilter);
    expect(formatDeadFilter(filter)).toBe('code:502');
  });
});

describe('suggestions', () => {
  const terms = (text: string, queues: string[] = [], known: Partial<Known> = {}) =>
    deadSuggestions(text, { queues, paths: [], values: [], ...known }).map((offer) =>
      completionOf(offer, formatDeadChip),
    );

  it('begin with the words, and then have queues and the error', () => {
    expect(terms('')).toEqual(['queue:', 'reason:', 'error:', 'code:', 'died:', 'replayed:', 'payload.']);
    expect(terms('co', ['coins'])).toEqual(['code:', 'queue:coins', 'error:~co']);
  });

  it('are paths of payloads and their values', () => {
    const known = { paths: [{ value: 'customer.id', count: 9 }], values: [{ value: '42', count: 3 }] };
    expect(terms('cust', [], known)).toEqual(['payload.customer.id:', 'payload.cust:42', 'error:~cust']);
    expect(terms('payload.customer.id:', [], known)).toEqual(['payload.customer.id:42']);
  });

  it('are conditions that the filter can read', () => {
    for (const text of ['reason:', 'died:', 'code:', 'replayed:', 'error:pool', 'queue:a']) {
      const found = terms(text, ['a b']);
      expect(found.length).toBeGreaterThan(0);
      expect(found.map((term) => parseDeadTerm(term ?? '')).filter(({ word }) => word === 'unknown')).toEqual([]);
    }
  });
});

describe('the filter of a replay that was started', () => {
  it('leads back to its dead letters', () => {
    const selection = { fingerprints: ['bc03a4af6c368fe6'], dead: { from: '2026-11-12T10:00:00.000Z' } };
    const path = pathOfSelection('REPLAY_DEAD_LETTERS', selection, 'orders') ?? '';
    const filter = parseDeadFilter(new URLSearchParams(path.split('?')[1]).get('q') ?? '');
    expect(toDeadLetterFilter(filter, ['id1'], NOW)).toEqual({
      replayed: false,
      queueIds: ['id1'],
      fingerprints: ['bc03a4af6c368fe6'],
      dead: { from: '2026-11-12T10:00:00.000Z' },
    });
  });

  it('has its conditions on payloads, or there is no way back', () => {
    const test = { kind: 'test', path: 'customer.id', op: 'EQ', value: 42 };
    const path = (payload: object) => pathOfSelection('REPLAY_DEAD_LETTERS', { payload }, null);
    expect(path(test)).toBe('/dead?q=payload.customer.id:42');
    expect(path({ kind: 'and', of: [test, { ...test, path: 'a', op: 'EXISTS' }] })).toBe(
      '/dead?q=payload.customer.id:42+payload.a:*',
    );
    expect(path({ kind: 'and', of: [test, { kind: 'or', of: [test] }] })).toBeNull();
    expect(pathOfSelection('REPLAY_DEAD_LETTERS', { jobs: {} }, null)).toBeNull();
    expect(pathOfSelection('REPLAY_DEAD_LETTERS', { ids: ['a'] }, null)).toBeNull();
  });

  it('is none for actions on jobs', () => {
    expect(pathOfSelection('CANCEL_JOBS', { states: ['due'] }, null)).toBeNull();
  });
});
