import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Lookup, NameLookupError, shareLookups } from '../../src/delivery/resolver.ts';

/** How accounts share the look-ups of a process (I-40). The look-ups themselves are answered by hand. */

type Answer = Parameters<Lookup>[2];

let asked: { name: string; answer: Answer }[];
let account: string;
let lookup: Lookup;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  lookup = shareLookups(
    (name, _options, answer) => asked.push({ name, answer }),
    () => account,
  );
});

afterEach(() => {
  vi.useRealTimers();
});

const HERE = [{ address: '127.0.0.1', family: 4 }];
const names = () => asked.map(({ name }) => name);

/** The results, in order of time. */
function ask(by: string, hostname: string): string[] {
  const said: string[] = [];
  account = by;
  lookup(hostname, { all: true }, (error, addresses) => said.push(error?.code ?? String(addresses[0]?.address)));
  return said;
}

function askMany(by: string, count: number): string[][] {
  return Array.from({ length: count }, (_, n) => ask(by, `${by}${n}.test`));
}

describe('look-ups that are never answered', () => {
  it('take a part of what the process has, and others begin at once', () => {
    askMany('greedy', 1000);
    expect(asked.length).toBeGreaterThan(40);
    expect(asked.length).toBeLessThan(60);
    ask('quiet', 'hooks.test');
    expect(names().at(-1)).toBe('hooks.test');
  });

  it('leave something to the account that comes after many', () => {
    for (let n = 0; n < 20; n += 1) askMany(`greedy-${n}`, 100);
    ask('quiet', 'hooks.test');
    expect(names().at(-1)).toBe('hooks.test');
  });

  it('do not keep another account from a name that the account with many requests too', () => {
    const [greedy] = [...askMany('greedy', 100), []];
    const first = ask('greedy', 'hooks.test');
    expect(names()).not.toContain('hooks.test');
    const second = ask('quiet', 'hooks.test');
    expect(names().at(-1)).toBe('hooks.test');
    asked.at(-1)?.answer(null, HERE);
    expect([first, second, greedy]).toEqual([['127.0.0.1'], ['127.0.0.1'], []]);
  });

  it('begin when others end, and fail when that takes long', () => {
    const all = askMany('greedy', 60);
    const begun = asked.length;
    asked[0]?.answer(null, HERE);
    expect(asked).toHaveLength(begun + 1);
    vi.advanceTimersByTime(3000);
    const said = all.map((each) => each[0]);
    expect(said.filter((each) => each === '127.0.0.1')).toHaveLength(1);
    // Those that wait, and not those that are running.
    expect(said.filter((each) => each === 'EAI_AGAIN')).toHaveLength(60 - begun - 1);
    for (const { answer } of asked.slice(1)) answer(null, HERE);
    expect(askMany('greedy', 60)).toHaveLength(60);
    expect(asked).toHaveLength(2 * begun + 1);
  });
});

describe('failures', () => {
  it.each([
    ['ENOTFOUND', 5000],
    ['EAI_AGAIN', 2000],
  ] as const)('failures with %s are remembered for %i ms', async (code, ms) => {
    ask('a', 'hooks.test');
    asked[0]?.answer(new NameLookupError(code), []);
    const said = ask('b', 'hooks.test');
    await new Promise((resolve) => process.nextTick(resolve));
    vi.advanceTimersByTime(ms - 1);
    expect(said).toEqual([code]);
    ask('b', 'hooks.test');
    expect(asked).toHaveLength(1);
    vi.advanceTimersByTime(1);
    ask('b', 'hooks.test');
    expect(asked).toHaveLength(2);
  });

  it('are forgotten with the next answer, which is not remembered', () => {
    ask('a', 'hooks.test');
    asked[0]?.answer(null, HERE);
    ask('a', 'hooks.test');
    expect(asked).toHaveLength(2);
  });
});
