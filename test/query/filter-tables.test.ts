import { coerceInputValue, type GraphQLInputType, isInputObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { ACTIVITY, activityPath, changesPath, toChanges } from '../../packages/query/filter/activity.ts';
import { ATTEMPTS, toAttemptFilter } from '../../packages/query/filter/attempts.ts';
import {
  DEAD_LETTERS,
  isReplayable,
  queueNamesOf,
  toDeadLetterFilter,
} from '../../packages/query/filter/dead-letters.ts';
import { fieldsIn, formatFilter, labelOf, parseFilter, parseTerm, toApi } from '../../packages/query/filter/engine.ts';
import { JOBS, stillMatches, toJobFilter } from '../../packages/query/filter/jobs.ts';
import { attemptsPath } from '../../packages/query/filter/links.ts';
import { toSearch } from '../../packages/query/filter/search.ts';
import { pathOfSelection } from '../../packages/query/filter/selection.ts';
import { mayUse, type Table } from '../../packages/query/filter/table.ts';
import { mayBeSent } from '../../src/graphql/access/enforce.ts';
import { schema } from '../../src/graphql/schema.ts';

const NOW = Date.parse('2026-11-12T12:00:00Z');
const VIEWER = { role: 'VIEWER', mayViewPayloads: false } as const;

/** A value of each word that has no examples. */
const TERMS: Readonly<Record<string, string>> = {
  queue: 'orders',
  error: '~timeout',
  key: '=a',
  text: '~a',
  action: '01a1cfa459463c7ed8a1f07c',
  answer: 'a',
  cause: 'bc03a4af6c368fe6',
  since: '1h',
  group: 'sign-ins',
  at: '2026-11-12T11:00Z..2026-11-12T12:00Z',
  took: '1s',
  target: '01a1cfa459463c7ed8a1f07c',
  actor: 'sam@example.com',
};

/** The type of each list's filter; changes have arguments instead. */
const typeOf = (table: Table): ReadonlyMap<string, GraphQLInputType> => {
  const name = { Jobs: 'JobFilter', 'Dead letters': 'DeadLetterFilter', Attempts: 'AttemptFilter' }[table.name];
  const type = name === undefined ? undefined : schema.getType(name);
  if (isInputObjectType(type)) return new Map(Object.values(type.getFields()).map((field) => [field.name, field.type]));
  const { args = [] } = schema.getQueryType()?.getFields().auditLog ?? {};
  return new Map(args.map((argument) => [argument.name, argument.type]));
};

const ROWS = [JOBS, DEAD_LETTERS, ATTEMPTS, ACTIVITY].flatMap((table: Table) =>
  Object.entries(table.words).flatMap(([word, { kind, examples = [] }]) => {
    const values = examples.length > 0 ? examples : [TERMS[word] ?? (word === 'code' ? '5xx' : 'queue.pause')];
    const terms = values.map((value) => `${word}:${typeof value === 'string' ? value : value[0]}`);
    return (kind.mark === '.' ? ['payload.customer.id:42', 'payload.a:*'] : terms).map((term) => ({
      table,
      word,
      term,
    }));
  }),
);

describe('each word of each table', () => {
  it.each(ROWS)('is a condition that the API takes, and needs the right that the API asks for: $term', (row) => {
    const { table, word, term } = row;
    const chip = parseTerm(table, term);
    expect(chip.word).toBe(word);
    expect(parseTerm(table, formatFilter(table, [chip]))).toEqual(term === 'replayed:no' ? expect.anything() : chip);
    const members = Object.entries(toApi(table, [chip], { now: NOW, queueIds: ['a'.repeat(24)] }));
    expect(members.length).toBe(term === 'replayed:any' ? 0 : 1);
    for (const [name, value] of members) {
      const type = typeOf(table).get(name);
      if (type === undefined) throw new Error(`${table.name} have no ${name}`);
      const problems: string[] = [];
      coerceInputValue(value, type, (_path, _value, error) => void problems.push(error.message));
      expect(problems).toEqual([]);
      expect(mayUse(table, word, VIEWER)).toBe(!isRefused(table, name, value));
    }
  });
});

/** Whether the server refuses the member to a client without the right to see payloads. */
function isRefused(table: Table, name: string, value: unknown): boolean {
  const filters = { Jobs: 'JobFilter', 'Dead letters': 'DeadLetterFilter', Attempts: 'AttemptFilter' };
  const type = schema.getType(filters[table.name as keyof typeof filters] ?? '');
  if (!isInputObjectType(type)) return false;
  const field = type.getFields()[name];
  const inner = schema.getType('PayloadConditionInput');
  if (name === 'payload' && isInputObjectType(inner) && typeof value === 'object' && value !== null) {
    return Object.keys(value).some((part) => {
      const member = inner.getFields()[part];
      return member !== undefined && !mayBeSent('PayloadConditionInput', member);
    });
  }
  return field !== undefined && !mayBeSent(type.name, field);
}

describe('the filter of jobs', () => {
  const example = 'state:dead,held error:~timeout payload.customer.id:42 created:>-2h';

  it('is one in the box, the URL and the API', () => {
    const filter = parseFilter(JOBS, example);
    expect(formatFilter(JOBS, filter)).toBe(example);
    expect(toSearch({ q: example })).toBe('?q=state:dead,held+error:~timeout+payload.customer.id:42+created:%3E-2h');
    expect(toJobFilter(filter, NOW)).toEqual({
      states: ['DEAD', 'HELD'],
      errorContains: 'timeout',
      payload: { path: 'customer.id', op: 'EQ', value: 42 },
      created: { from: '2026-11-12T10:00:00.000Z' },
    });
    expect(filter.map((chip) => labelOf(JOBS, chip))).toEqual([
      { key: 'state', value: 'dead, held' },
      { key: 'error', value: 'contains “timeout”' },
      { key: 'customer.id', value: '= 42' },
      { key: 'created', value: 'last 2 h' },
    ]);
  });

  it.each([
    ['code:500,5xx,0', { webhookStatusCodes: [500], webhookStatusClasses: [5, 0] }],
    ['attempts:>2', { attempts: { min: 3 } }],
    ['attempts:<3', { attempts: { max: 2 } }],
    ['attempts:2..4', { attempts: { min: 2, max: 4 } }],
    ['state:pending', { states: ['DUE', 'SCHEDULED', 'RETRYING', 'HELD'] }],
    ['state:awaiting-ack', { states: ['AWAITING_ACK'] }],
    ['key:paid', { idempotencyKeyContains: 'paid' }],
    ['key:=orders-77', { idempotencyKey: 'orders-77' }],
    ['ever:500,5xx,0', { anyWebhookStatusCodes: [500], anyWebhookStatusClasses: [5, 0] }],
    ['holds:>2', { deferCount: { min: 3 } }],
    ['reason:nacked,holds-exhausted', { deadReasons: ['NACKED', 'DEFER_CAP_EXHAUSTED'] }],
    ['waits:pause,slot', { waitReasons: ['PAUSED', 'CONCURRENCY'] }],
    ['action:01a1cfa459463c7ed8a1f07c', { actionId: '01a1cfa459463c7ed8a1f07c' }],
    ['text:~"card declined"', { payload: { anywhere: 'card declined' } }],
    ['payload.a:1 text:b', { payload: { and: [{ path: 'a', op: 'EQ', value: 1 }, { anywhere: 'b' }] } }],
    ['payload.items.*.sku:A-1', { payload: { path: 'items.*.sku', op: 'EQ', value: 'A-1' } }],
    [
      'created:2026-11-12..2026-11-12',
      { created: { from: '2026-11-12T00:00:00.000Z', to: '2026-11-12T23:59:59.999Z' } },
    ],
    ['scheduled:<+1h', { scheduled: { to: '2026-11-12T13:00:00.000Z' } }],
    ['payload.a:1,2', { payload: { or: [1, 2].map((value) => ({ path: 'a', op: 'EQ', value })) } }],
    ['payload.a:"1"', { payload: { path: 'a', op: 'EQ', value: '1' } }],
    ['payload.a:!null', { payload: { path: 'a', op: 'NEQ', value: null } }],
    ['payload.a:*', { payload: { path: 'a', op: 'EXISTS' } }],
    [
      'payload.a:>1 payload.b:~x',
      {
        payload: {
          and: [
            { path: 'a', op: 'GT', value: 1 },
            { path: 'b', op: 'CONTAINS', value: 'x' },
          ],
        },
      },
    ],
    ['queue:a queue:b', { queueNames: ['a', 'b'] }],
    ['receiver:api.example:8443,b.example', { receivers: ['api.example:8443', 'b.example'] }],
    ['error:~a error:~b', { errorContains: 'b' }],
  ])('asks the API for %s', (text, expected) => expect(toJobFilter(parseFilter(JOBS, text), NOW)).toEqual(expected));

  it.each([
    ['state:retrying,held', 'RETRYING', true],
    ['state:retrying,held', 'COMPLETED', false],
    ['state:retrying', 'DUE', false],
    ['state:awaiting-ack', 'AWAITING_ACK', true],
    ['queue:a', 'DEAD', true],
  ] as const)('the filter %s still has a row whose state became %s: %s', (text, state, expected) => {
    expect(stillMatches(parseFilter(JOBS, text), { state })).toBe(expected);
  });
});

describe('the filter of dead letters', () => {
  const api = (text: string, queueIds: string[] = []) =>
    toDeadLetterFilter(parseFilter(DEAD_LETTERS, text), { queueIds, now: NOW });

  it('means those that were not replayed, unless it says otherwise', () => {
    expect(api('')).toEqual({ replayed: false });
    expect(api('replayed:yes')).toEqual({ replayed: true });
    expect(api('replayed:any')).toEqual({});
    const replayable = ['', 'replayed:any', 'replayed:yes'].map((text) =>
      isReplayable(parseFilter(DEAD_LETTERS, text)),
    );
    expect(replayable).toEqual([true, true, false]);
  });

  it('has each member of the API, with names as ids and times as of now', () => {
    const text =
      'queue:orders,"a b" reason:nacked,ack-timeout error:~"pool exhausted" code:500,502 died:>-2h cause:bc03a4af6c368fe6';
    expect(queueNamesOf(parseFilter(DEAD_LETTERS, text))).toEqual(['orders', 'a b']);
    expect(api(text, ['id1', 'id2'])).toEqual({
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
    expect(api('payload.customer.id:42 answer:""')).toEqual({
      replayed: false,
      answers: [''],
      payload: { path: 'customer.id', op: 'EQ', value: 42 },
    });
  });
});

describe('the filter of a replay that was started', () => {
  it('leads back to its dead letters', () => {
    const selection = { fingerprints: ['bc03a4af6c368fe6'], dead: { from: '2026-11-12T10:00:00.000Z' } };
    const path = pathOfSelection('REPLAY_DEAD_LETTERS', selection, 'orders') ?? '';
    const filter = parseFilter(DEAD_LETTERS, new URLSearchParams(path.split('?')[1]).get('q') ?? '');
    expect(toDeadLetterFilter(filter, { queueIds: ['id1'], now: NOW })).toEqual({
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

  it('has its receivers in place of the queues that delivered to them, and no way back to other queues', () => {
    const ofReceiver = { receivers: ['a.example:8443'], queueIds: ['id1', 'id2'] };
    const path = pathOfSelection('REPLAY_DEAD_LETTERS', ofReceiver, null) ?? '';
    expect(new URLSearchParams(path.split('?')[1]).get('q')).toBe('receiver:a.example:8443');
    expect(pathOfSelection('REPLAY_DEAD_LETTERS', { queueIds: ['id1', 'id2'] }, null)).toBeNull();
  });

  it('is none for actions on jobs', () => {
    expect(pathOfSelection('CANCEL_JOBS', { states: ['due'] }, null)).toBeNull();
  });
});

describe('the filter of attempts', () => {
  const fields = (search: string) => fieldsIn(ATTEMPTS, new URLSearchParams(search));
  const api = (search: string, queueIds: string[] = []) => toAttemptFilter(fields(search), { queueIds, now: NOW });

  it('stands in its address', () => {
    const path = '/jobs/attempts?queue=a+b&since=1h&code=5xx&took=5s&answer=card+declined';
    expect(attemptsPath(fields(path.split('?')[1] ?? ''))).toBe(path);
    expect(attemptsPath(fields('code=9xx&since=toString&took=2s&queue='))).toBe('/jobs/attempts');
    expect(fields('answer="~a,').answer).toBe('"~a,');
    expect(fieldsIn(ATTEMPTS, new URLSearchParams('answer=a&queue=q'), VIEWER)).toMatchObject({
      answer: null,
      queue: 'q',
    });
  });

  it('is a filter of the API', () => {
    expect(api('')).toEqual({ at: { from: '2026-11-11T12:00:00.000Z' } });
    expect(api('since=1h&code=5xx&took=1s&answer=a b&queue=q', ['id'])).toEqual({
      at: { from: '2026-11-12T11:00:00.000Z' },
      queueIds: ['id'],
      webhookStatusClasses: [5],
      durationMs: { min: 1001 },
      responseContains: 'a b',
    });
    expect(api('code=0')).toMatchObject({ webhookStatusClasses: [0] });
    expect(api('code=429')).toMatchObject({ webhookStatusCodes: [429] });
    expect(api('code=busy')).toMatchObject({ webhookStatusCodes: [429, 503, 529] });
  });
});

describe('the filter of Activity', () => {
  const filter = fieldsIn(ACTIVITY, new URLSearchParams('action=queue.pause&actor=sam@example.com&since=1d&after=x'));

  it('stands in the address, without the page', () => {
    expect(activityPath(filter)).toBe('/activity?action=queue.pause&actor=sam@example.com&since=1d');
    expect(activityPath(filter, { actor: null, before: 'y' })).toBe('/activity?action=queue.pause&since=1d&before=y');
  });

  it('has a time that it knows, before now', () => {
    expect(toChanges(filter, NOW)).toEqual({
      action: 'queue.pause',
      actor: 'sam@example.com',
      at: { from: '2026-11-11T12:00:00.000Z' },
    });
    expect(fieldsIn(ACTIVITY, new URLSearchParams('since=constructor')).since).toBeNull();
  });

  it('is about changes, unless a group or a kind is chosen', () => {
    const asked = (search: string) => toChanges(fieldsIn(ACTIVITY, new URLSearchParams(search)), NOW);
    expect(asked('')).toEqual({ groups: ['SETTINGS', 'ACCESS', 'JOBS'] });
    expect(asked('group=sign-ins')).toEqual({ groups: ['SIGN_INS'] });
    const hour = changesPath('a1', {
      from: Date.parse('2026-11-12T11:00:00Z'),
      to: Date.parse('2026-11-12T12:00:00.5Z'),
    });
    expect(hour).toBe('/activity?target=a1&at=2026-11-12T11:00:00Z..2026-11-12T12:00:01Z');
    expect(asked(hour.split('?')[1] ?? '')).toMatchObject({
      targetId: 'a1',
      at: { from: '2026-11-12T11:00:00.000Z', to: '2026-11-12T12:00:01.000Z' },
    });
  });
});
