import { describe, expect, it } from 'vitest';
import { type Cell, type Format, writerOf } from '../../packages/query/export/format.ts';
import { type End, exported, type Ports, type Wanted } from '../../packages/query/export/run.ts';
import { SOURCES } from '../../packages/query/export/sources.ts';
import { toChanges } from '../../packages/query/filter/activity.ts';
import { queueSearchOf } from '../../packages/query/filter/queue-search.ts';
import { nameOf, textOf } from '../../packages/query/schema/graphql.ts';

/** Files of lists, as the dashboard and the command line write them. */

const row = (format: Format, ...cells: Cell[]) =>
  writerOf(
    format,
    cells.map((_, at) => `c${at}`),
  ).row(cells);

describe('a row of CSV', () => {
  it('has quotes where RFC 4180 asks for them', () => {
    expect(row('csv', 'plain', 'a "b"', 'one,two', 'line\nbreak', 'r\rn')).toBe(
      'plain,"a ""b""","one,two","line\nbreak","r\rn"\r\n',
    );
    expect(row('csv', null, '', 0, false, { json: '{"a":1}' })).toBe(',"",0,false,"{""a"":1}"\r\n');
  });

  it.each(['=cmd|x', '+1', '-1', '@SUM(A1)', '\tx', '＝1'])('is no formula to a spreadsheet: %j', (text) => {
    expect(row('csv', text)).toBe(`'${text}\r\n`);
    expect(row('csv', { json: text })).toBe(`'${text}\r\n`);
  });

  it.each([
    ['a;=1+1', "a;'=1+1"],
    ['a;;-1;+2;@x;＝3', "a;;'-1;'+2;'@x;'＝3"],
    ['a\t=1', "a\t'=1"],
    ['a\n=1', `"a\n'=1"`],
    [';"=1+1;', `";'""=1+1;"`],
    ['a;""@b', `"a;'""""@b"`],
    ['a; b=1', 'a; b=1'],
    ['a;"b=1"', '"a;""b=1"""'],
  ])('is no formula where a semicolon or a tab separates cells: %j', (text, cell) => {
    expect(row('csv', text)).toBe(`${cell}\r\n`);
    expect(row('csv', { json: text })).toBe(`${cell}\r\n`);
  });

  it('keeps numbers below zero, text of any script, and has no zero byte', () => {
    expect(row('csv', -5, '\u202e\u0645\u0631\u062d\u0628\u0627', 'a\0b')).toBe(
      '-5,\u202e\u0645\u0631\u062d\u0628\u0627,a\u2400b\r\n',
    );
  });
});

describe('a row of NDJSON', () => {
  it('is one line, with the payload as it was published', () => {
    const payload = '{\r\n "big": 900719925474099312345, "big": 1e400,\n "text": "a\\nb \\u0000"}';
    const line = row('ndjson', 'a\nb', { json: payload }, null);
    expect(line).toBe(
      '{"c0":"a\\nb","c1":{  "big": 900719925474099312345, "big": 1e400,  "text": "a\\nb \\u0000"},"c2":null}\n',
    );
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(JSON.parse(line)).toMatchObject({ c0: 'a\nb', c1: { text: 'a\nb \0' } });
  });
});

const refused = new Error('request fewer jobs');
const away = new Error('no answer');

/** A service with so many changes. `fail` may refuse a page. */
function serviceOf(all: number, fail: (first: number, call: number) => Error | null = () => null) {
  const sizes: number[] = [];
  const waits: number[] = [];
  const ports: Ports = {
    ask: async (operation, variables) => {
      const { first, after } = variables as { first: number; after: string | null };
      const answer = () => {
        const name = nameOf(operation);
        if (name === 'ExportHead')
          return {
            me: { mayViewPayloads: true, account: { id: 'a1', name: 'Ada' } },
            server: { environment: 'staging', now: '2026-11-26T12:00:00.000Z' },
          };
        if (name.endsWith('Total')) return { rows: { totalCount: all, totalCountExact: true } };
        const failure = fail(first, sizes.push(first));
        if (failure !== null) throw failure;
        const from = Number(after ?? 0);
        const nodes = Array.from({ length: Math.min(first, all - from) }, (_, n) => ({ id: `e${from + n}` }));
        const end = from + nodes.length;
        return { rows: { nodes, pageInfo: { endCursor: String(end), hasNextPage: end < all } } };
      };
      return answer() as never;
    },
    afterFailure: (error, failures) => (error === away ? 1000 * 2 ** failures : error === refused ? 'smaller' : 'end'),
    wait: async (ms) => {
      waits.push(ms);
    },
  };
  return { ports, sizes, waits };
}

async function fileOf({ ports }: { ports: Ports }, more: Partial<Wanted> = {}) {
  const pieces = exported(
    { of: 'activity', format: 'ndjson', filter: 'action:queue.update', variables: {}, ...more },
    ports,
  );
  let text = '';
  for (;;) {
    const next = await pieces.next();
    if (next.done === true) return { lines: text.trimEnd().split('\n'), end: next.value as End };
    text += next.value.text;
  }
}
const last = (lines: readonly string[]) => JSON.parse(lines.at(-1) ?? '') as object;

describe('an export', () => {
  it('says what it is in its first line, and that it is whole in its last', async () => {
    const { lines, end } = await fileOf(serviceOf(250));
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      export: 'activity',
      account: 'Ada',
      accountId: 'a1',
      environment: 'staging',
      at: '2026-11-26T12:00:00.000Z',
      filter: 'action:queue.update',
      query: {},
      order: 'newest first',
      payloads: false,
      matching: 250,
      matchingIsExact: true,
      limit: 100_000,
    });
    expect(lines.slice(1, -1).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(
      Array.from({ length: 250 }, (_, n) => `e${n}`),
    );
    expect(last(lines)).toEqual({ end: 'activity', rows: 250, complete: true });
    expect(end).toEqual({ rows: 250, why: null, isCut: false });
  });

  it('has a comment, the names and a comment in CSV', async () => {
    const { lines } = await fileOf(serviceOf(1), { format: 'csv' });
    expect(lines[0]).toMatch(/^\ufeff"?# export: activity; account: Ada; .*filter: action:queue\.update; /);
    expect(lines[1]).toBe('id,at,actor,action,targetType,targetId,targetName,before,after\r');
    expect(lines.at(-1)).toBe('# end: activity; rows: 1; complete: true');
  });

  it('has no payloads for people who may not see them, although they are asked for', async () => {
    const service = serviceOf(1);
    const { ask } = service.ports;
    service.ports.ask = async (operation, variables) => {
      const answer = await ask(operation, variables);
      if (nameOf(operation) === 'ExportHead')
        (answer as { me: { mayViewPayloads: boolean } }).me.mayViewPayloads = false;
      return answer;
    };
    const [head = '', row = ''] = (await fileOf(service, { of: 'dead-letters', payloads: true })).lines;
    expect(JSON.parse(head)).toMatchObject({ payloads: false });
    expect(JSON.parse(row)).not.toHaveProperty('payload');
  });

  it.each([
    [250, 200, 'cut at 200 rows'],
    [200, 200, null],
    [250, 20, 'cut at 20 rows'],
  ])('a list of %i rows with a limit of %i ends with %j', async (all, limit, why) => {
    const { lines, end } = await fileOf(serviceOf(all), { limit });
    expect(end).toEqual({ rows: limit, why, isCut: why !== null });
    expect(last(lines)).toMatchObject({ rows: limit, complete: why === null });
    expect(lines).toHaveLength(limit + 2);
  });

  it('asks for smaller pages when one is refused, and for larger ones again', async () => {
    const service = serviceOf(300, (first) => (first > 30 ? refused : null));
    const { end } = await fileOf(service);
    expect(end).toEqual({ rows: 300, why: null, isCut: false });
    expect(service.sizes).toEqual([100, 50, ...Array(10).fill(25), 50, 25, 25]);
  });

  it('is incomplete if even one row is refused, and says why', async () => {
    const service = serviceOf(150, (_first, call) => (call > 1 ? refused : null));
    const { lines, end } = await fileOf(service);
    expect(end).toEqual({ rows: 100, why: 'request fewer jobs', isCut: false });
    expect(last(lines)).toEqual({ end: 'activity', rows: 100, complete: false, why: 'request fewer jobs' });
  });

  it('outlasts a restart of the service, and ends after a minute without an answer', async () => {
    const restarts = serviceOf(150, (_first, call) => (call > 1 && call < 5 ? away : null));
    expect((await fileOf(restarts)).end).toMatchObject({ rows: 150, why: null });
    expect(restarts.waits).toEqual([1000, 2000, 4000]);
    const gone = serviceOf(150, (_first, call) => (call > 1 ? away : null));
    const { lines } = await fileOf(gone);
    expect(last(lines)).toEqual({ end: 'activity', rows: 100, complete: false, why: 'no answer' });
    expect(gone.waits.reduce((sum, ms) => sum + ms, 0)).toBe(63_000);
  });
});

describe('the operations of an export', () => {
  const ofActivity = { group: 'jobs', action: 'a', target: 't', actor: 'b', at: null, since: '1d' } as const;

  it.each([
    ['activity', toChanges(ofActivity, 0)],
    ['queues', queueSearchOf('tag:mail shop')],
  ] as const)('take every condition of the list of %s', (name, conditions) => {
    const { operation, total } = SOURCES[name];
    const texts = [operation, total].map((one) => (one === null ? '' : textOf(one)));
    expect(Object.keys(conditions).filter((key) => texts.some((text) => !text.includes(`: $${key}`)))).toEqual([]);
    expect(Object.keys(conditions).length).toBeGreaterThan(1);
  });
});
