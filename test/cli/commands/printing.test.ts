import { describe, expect, it } from 'vitest';
import { helpOf, readArguments, usageOf } from '../../../src/cli/commands/arguments.ts';
import { command } from '../../../src/cli/commands/command.ts';
import { COMMANDS } from '../../../src/cli/commands/index.ts';
import { lifeOf } from '../../../src/cli/commands/job-timeline.ts';
import { facts, jsonOf, printableLines, table } from '../../../src/cli/commands/output.ts';
import { openCommands } from '../../support/operator.ts';

const sample = command({
  name: 'thing make',
  summary: 'Make a thing.',
  options: { size: { value: 'N', required: true, help: 'its size' }, red: { help: 'in red' } },
  argument: { name: 'ID', what: 'the id of the thing' },
  run: () => Promise.resolve(null),
});

describe('arguments', () => {
  it('are read by the table of the command', () => {
    expect(readArguments(sample, ['x', '--size', '3'])).toEqual({
      options: { size: '3', red: false, json: false },
      argument: 'x',
      json: false,
    });
    expect(readArguments(sample, ['--red', '--json', '--size=-1', 'x'])).toMatchObject({
      options: { size: '-1', red: true },
      json: true,
    });
  });

  it.each<[string[], RegExp]>([
    [[], /^ID is missing\nusage: jobferry thing make ID --size N \[--red\]$/],
    [['x'], /^--size is missing\nusage: jobferry thing make ID --size N \[--red\]$/],
    [['x', '--size='], /^--size is missing\n/],
    [['x', '--size'], /^--size needs a value/],
    [['x', '--size', '1', 'y'], /^unexpected argument "y"$/],
    [['x', '--size', '1', '--red=yes'], /^--red takes no value$/],
    [['x', '--blue'], /^unknown option --blue: the command takes --size, --red and --json$/],
  ])('%j are refused', (args, said) => {
    expect(() => readArguments(sample, args)).toThrow(said);
  });

  it('usage in an error has one line, also of a command with many options', () => {
    const long = COMMANDS.find(({ name }) => name === 'queue create');
    if (long === undefined) throw new Error('no such command');
    expect(() => readArguments(long, [])).toThrow(/^NAME is missing\nusage: jobferry queue create NAME \[OPTIONS\]$/);
  });

  it('are explained', () => {
    expect(usageOf(sample)).toBe('thing make ID --size N [--red]');
    expect(helpOf(sample)).toMatch(
      /^jobferry thing make ID .*\n\nMake a thing\.\n\n {2}ID {8}the id of the thing\n {2}--size N {2}its size\n/,
    );
  });

  it('have names that no command shares', () => {
    const names = COMMANDS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('text for people', () => {
  it('is a table with numbers at their end, or a sentence in place of no rows', () => {
    const columns = [
      { title: 'NAME', of: ({ name }: { name: string | null }) => name },
      { title: 'N', of: () => 5, isNumber: true },
      { title: 'AT', of: () => new Date(0) },
    ];
    expect(table(columns, [{ name: 'long name' }, { name: null }], 'None.')).toBe(
      ['NAME       N  AT', 'long name  5  1970-01-01 00:00:00.000Z', '-          5  1970-01-01 00:00:00.000Z'].join(
        '\n',
      ),
    );
    expect(table(columns, [], 'None.')).toBe('None.');
  });

  it('shows control characters instead of sending them to the terminal', () => {
    expect(facts([['name', 'a\u001b[2Jb\n\u202ec']])).toBe('name  a\\u001b[2Jb\\u000a\\u202ec');
  });

  it('is the same value as JSON, in which a terminal finds no command', () => {
    const value = { 'k\u009b31m': 'a\u001b]0;t\u0007\u202e\u2028\u{e0001}\u007fü' };
    expect(jsonOf(value)).toMatch(/^[\x20-\x7eü]*$/);
    expect(JSON.parse(jsonOf(value))).toEqual(value);
    expect(printableLines('one\u001b[31m\ntwo\r')).toBe('one\\u001b[31m\ntwo\\u000d');
  });

  it('cuts long cells, and leaves out what is undefined', () => {
    const name = { title: 'NAME', of: (row: string) => row };
    expect(table([name], ['x'.repeat(100)], '').split('\n')[1]).toBe(`${'x'.repeat(59)}…`);
    expect(
      facts([
        ['a', 1],
        ['none', undefined],
        ['b', true],
      ]),
    ).toBe('a  1\nb  yes');
  });
});

describe('the life of a job', () => {
  const at = (seconds: number) => new Date(seconds * 1000);
  const none = { deadLetter: null, cancelledBy: null };

  it('has its attempts in the order of time, and its end', () => {
    const attempt = { jobId: 'j', queueId: 'q', waitMs: 0 };
    const job = {
      createdAt: at(0),
      completedAt: null,
      deadAt: at(9),
      deadReason: 'attempts_exhausted',
      status: 'dead',
      maxAttempts: 2,
    };
    const attempts = [
      {
        ...attempt,
        ordinal: 1,
        attempt: 1,
        status: 'failed',
        error: 'HTTP 500',
        webhookStatusCode: 500,
        durationMs: 12,
        startedAt: at(1),
        timestamp: at(2),
        nextAt: at(7),
      },
      {
        ...attempt,
        ordinal: 2,
        attempt: 2,
        status: 'failed',
        error: 'timeout',
        webhookStatusCode: null,
        durationMs: 15,
        startedAt: at(8),
        timestamp: at(9),
        nextAt: null,
      },
    ];
    const deadLetter = { id: 'd', deadAt: at(9), replayedAt: at(20), replayedJobId: 'r' };
    const shown = { ...none, job: { ...job, replayOf: 'o', progress: null }, attempts, deadLetter };
    expect(
      lifeOf(shown as unknown as Parameters<typeof lifeOf>[0]).map(
        ({ at: when, what }) => `${when.getTime() / 1000} ${what}`,
      ),
    ).toEqual([
      '0 published, as a replay of job o',
      '1 delivery 1 of 2 started',
      '2 delivery 1 ended: failed (status 500, 12 ms, HTTP 500, next delivery at 1970-01-01T00:00:07.000Z at the earliest)',
      '8 delivery 2 of 2 started',
      '9 delivery 2 ended: failed (15 ms, timeout)',
      '9 dead: attempts exhausted',
      '9 dead letter d',
      '20 replayed as job r',
    ]);
  });
});

describe('config check', () => {
  it('shows what is set, without secrets, and warns of names that look misspelt', async () => {
    const { run } = openCommands('postgres://u:hidden@h/db', { WORKER_CAPACITY: '7', PROT: '1' });
    const { json, text, isFailure } = await run('config', 'check');
    expect(json).toEqual({
      ok: true,
      warnings: ['Jobferry does not read PROT: did you mean PORT?'],
      set: { DATABASE_URL: '(secret)', WORKER_CAPACITY: '7' },
    });
    expect(text).toMatch(/WORKER_CAPACITY +7\nwarning: .*PROT.*\nok$/);
    expect([JSON.stringify(json), text].join()).not.toContain('hidden');
    expect(isFailure).toBeUndefined();
  });

  it('shows an empty list of allowed blocks, which is not the default', async () => {
    const { run } = openCommands('', { WEBHOOK_ALLOW_CIDRS: '', WORKER_CAPACITY: '' });
    expect((await run('config', 'check')).text).toBe('WEBHOOK_ALLOW_CIDRS  (none)\nok');
  });
});
