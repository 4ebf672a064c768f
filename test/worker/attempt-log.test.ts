import { describe, expect, it } from 'vitest';
import { createLog, type LogLevel } from '../../src/telemetry/log.ts';
import { AttemptLog } from '../../src/worker/dispatch/attempt-log.ts';
import type { SettledDelivery } from '../../src/worker/dispatch/settle-batcher.ts';
import { job, rules } from '../support/job-states.ts';

/** At `info` the log says what an operator should know, and not more when there are more jobs. */

type Change = Partial<SettledDelivery['delivery']['settlement']['transition']>;

function logging(level: LogLevel = 'debug') {
  const lines: { level: string; status: string }[] = [];
  let now = 0;
  const log = createLog({ level }, { write: (text) => lines.push(JSON.parse(text)) });
  const attempts = new AttemptLog(log, () => now);
  const write = (change: Change, { applied = true, queueId = 'q', outcome = 'failed' } = {}) =>
    attempts.write(settled(change, queueId, outcome), applied);
  return { lines, write, pass: (ms: number) => (now += ms), levels: () => lines.map((line) => line.level) };
}

function settled(change: Change, queueId: string, outcome: string): SettledDelivery {
  const transition = { status: 'pending', waitMs: 0, entry: null, deadReason: null, queueEffect: null, ...change };
  return {
    job: { id: 'j', queueId, queueName: 'mails', accountId: 'a', trace: null, state: job(), rules: rules() },
    delivery: { outcome, durationMs: 1, settlement: { transition, answer: null } },
  } as unknown as SettledDelivery;
}

describe('the level of an attempt', () => {
  it.each<[string, Change, object, string]>([
    ['a success', { status: 'completed' }, { outcome: 'accepted' }, 'debug'],
    ['a retry', {}, {}, 'debug'],
    ['a death', { status: 'dead', deadReason: 'attempts_exhausted' }, {}, 'info'],
    ['the start of a hold', { queueEffect: { kind: 'hold', ms: 1000 } }, {}, 'info'],
    ['the end of a hold', { status: 'completed', queueEffect: { kind: 'resume' } }, {}, 'info'],
    ['an outcome that was dropped', { status: 'completed' }, { applied: false }, 'info'],
    ['a delivery that was abandoned', {}, { outcome: 'abandoned' }, 'info'],
  ])('the log line of %s has the right level', (_what, change, options, level) => {
    const { write, levels } = logging();
    write(change, options);
    expect(levels()).toEqual([level]);
  });
});

it('writes nothing of thousands of successes and retries at the usual level', () => {
  const { write, lines } = logging('info');
  for (let n = 0; n < 5000; n += 1) write(n % 2 === 0 ? { status: 'completed' } : {});
  expect(lines).toEqual([]);
});

it('writes a few of thousands of deaths of a queue, and again later', () => {
  const { write, lines, pass } = logging('info');
  const die = (queueId: string) => write({ status: 'dead', deadReason: 'attempts_exhausted' }, { queueId });
  for (let n = 0; n < 5000; n += 1) die('q');
  expect(lines).toHaveLength(10);
  die('another');
  write({ queueEffect: { kind: 'hold', ms: 1000 } });
  expect(lines, 'each queue and each kind counts for itself').toHaveLength(12);
  pass(10_000);
  die('q');
  expect(lines).toHaveLength(13);
});
