import { afterEach, describe, expect, it, vi } from 'vitest';
import { DatabaseAway } from '../../src/domain/errors.ts';
import { createLevelSwitch, createLog } from '../../src/telemetry/log.ts';
import { pretty } from '../../src/telemetry/log-pretty.ts';

afterEach(() => vi.useRealTimers());

interface Line {
  level: string;
  msg: string;
  err?: { message: string; stack?: string; cause?: { message: string; stack?: string } };
  of?: string;
  leftOut?: number;
}

function logging() {
  const lines: Line[] = [];
  const log = createLog({ level: 'info' }, { write: (text) => lines.push(JSON.parse(text) as Line) });
  return { log, lines };
}

const refused = () => new Error('the database is not available', { cause: new Error('connect ECONNREFUSED') });

it('shows a few of equal warnings, and how many it left out', async () => {
  vi.useFakeTimers();
  const { log, lines } = logging();
  for (let n = 0; n < 10_000; n += 1) log.warn({ err: refused(), n }, 'reconciling failed');
  expect(lines).toHaveLength(5);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(lines.slice(5)).toMatchObject([
    { msg: 'equal lines were left out', of: 'reconciling failed', leftOut: 9_995 },
  ]);
  log.warn({ err: refused() }, 'reconciling failed');
  expect(lines).toHaveLength(7);
  expect(lines[6]).toMatchObject({ msg: 'reconciling failed', err: { message: 'the database is not available' } });
});

it('shows the stack of an error once, although several lines log the error', () => {
  const { log, lines } = logging();
  for (const what of ['one', 'two', 'three', 'four', 'five']) log.warn({ err: refused() }, `${what} failed`);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'one failed',
    'two failed',
    'three failed',
    'four failed',
    'five failed',
  ]);
  expect(lines.filter((line) => JSON.stringify(line).includes('"stack"'))).toHaveLength(1);
  expect(lines[4]?.err).toMatchObject({ cause: { message: 'connect ECONNREFUSED' } });
});

it('leaves out nothing that is not an error again', () => {
  const { log, lines } = logging();
  for (let n = 0; n < 20; n += 1) log.info({ n }, 'attempt');
  for (let n = 0; n < 20; n += 1) log.error({ err: new Error(`mistake ${n}`) }, 'request failed');
  expect(lines).toHaveLength(40);
  expect(lines.filter(({ err }) => err?.stack !== undefined)).toHaveLength(20);
});

describe('the level at run time', () => {
  it('is debug for ten minutes, or until the next signal', async () => {
    vi.useFakeTimers();
    const { log, lines } = logging();
    const signal = createLevelSwitch(log);
    const seen = () => {
      lines.length = 0;
      log.debug('a detail');
      return lines.length === 1;
    };
    expect(seen()).toBe(false);
    signal();
    expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringContaining('for ten minutes') }]);
    expect(seen()).toBe(true);
    signal();
    expect(seen()).toBe(false);
    signal();
    await vi.advanceTimersByTimeAsync(599_000);
    expect(seen()).toBe(true);
    await vi.advanceTimersByTimeAsync(2000);
    expect(lines.at(-1)).toMatchObject({ msg: 'ten minutes have passed: the log level is as before' });
    expect(seen()).toBe(false);
  });

  it('is not lowered from trace', () => {
    const lines: string[] = [];
    const log = createLog({ level: 'trace' }, { write: (text) => lines.push(text) });
    createLevelSwitch(log)();
    expect(log.level).toBe('trace');
    expect(lines.join('')).toContain('not raised');
  });
});

describe('a line for people', () => {
  const time = new Date(2026, 10, 22, 3, 4, 5, 60).toISOString();
  const line = (fields: object) => JSON.stringify({ level: 'warn', time, pid: 1, ...fields });

  it('has time, level, message and fields', () => {
    const text = pretty(line({ queue: 'mails', n: 3, of: 'two words', none: null, msg: 'a message' }), {
      colours: false,
    });
    expect(text).toBe('03:04:05.060 WARN  a message queue=mails n=3 of="two words" none=null\n');
  });

  it('has the stacks of its error and of the causes below it', () => {
    const err = { message: 'one', stack: 'Error: one\n    at a.ts', cause: { message: 'two' } };
    expect(
      pretty(line({ err, msg: 'failed' }), { colours: false })
        .split('\n')
        .slice(1),
    ).toEqual(['    Error: one', '        at a.ts', '    two', '']);
  });

  it('lets no text of others control the terminal', () => {
    const text = '\u001b[2J\u009b31m\u202e\r';
    const err = { message: text, cause: { message: text } };
    const shown = pretty(line({ text, [text]: 1, err, msg: text }), { colours: false });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be left
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(pretty(line({ msg: 'x' }), { colours: true })).toContain('\u001b[33mWARN ');
  });
});

it('says once that the database is away, instead of a line for each loop, and has the others at debug', async () => {
  vi.useFakeTimers();
  const { log, lines } = logging();
  const away = () => new DatabaseAway('nothing', new Error('no server', { cause: new Error('connect ECONNREFUSED') }));
  for (const what of ['finding dead workers', 'indexing payloads', 'a claim']) {
    for (let n = 0; n < 10; n += 1) log.warn({ err: away() }, `${what} failed and will be retried`);
  }
  log.warn({ server: 'b' }, 'another server of the database URL is the primary now');
  const of = 'the database is not available: background work fails, and is retried';
  const said = { msg: of, reason: 'connect ECONNREFUSED', first: 'finding dead workers failed and will be retried' };
  expect(lines).toMatchObject([said, { msg: 'another server of the database URL is the primary now' }]);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(lines.slice(2)).toMatchObject([{ msg: 'equal lines were left out', of, leftOut: 29 }]);
  log.level = 'debug';
  log.warn({ err: away() }, 'a claim failed and will be retried');
  expect(lines.slice(3)).toMatchObject([{ level: 'debug', msg: 'a claim failed and will be retried' }, { msg: of }]);
});
