import { afterEach, expect, it, vi } from 'vitest';
import { createLog } from '../src/log.ts';

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
