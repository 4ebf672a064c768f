import { describe, expect, it } from 'vitest';
import {
  type ActionState,
  addSample,
  leadOfAction,
  paceOfAction,
  progressText,
  rateOfAction,
  type Sample,
  sentenceOfAction,
  stepsOf,
  timeLeft,
  titleOfAction,
  toGoText,
  wordsOfKind,
} from '../../packages/dashboard/features/actions/model/action.ts';
import { sentenceOfActions } from '../../packages/dashboard/features/actions/model/action-list.ts';
import { hasOutcome, isSettled, sharesOf } from '../../packages/dashboard/features/actions/model/outcome.ts';
import { pairsOfSelection } from '../../packages/dashboard/features/actions/model/selection.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';

const START = '2026-11-12T12:04:29Z';
const NOW = Date.parse(START) + 122_000;
const VIEW = { now: NOW, zone: 'utc' } as const;
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

const RUNNING: ActionState & { queue: { name: string } | null } = {
  kind: 'REPLAY_DEAD_LETTERS',
  status: 'RUNNING',
  matched: 1998,
  processed: 1204,
  succeeded: 1198,
  skipped: 6,
  ratePerSecond: 10,
  canary: true,
  canaryJobId: '01a1cfa524c8000000051c3a',
  error: null,
  repeatedStep: null,
  requestedBy: 'jf_4kQ…x7Pd',
  pausedAt: null,
  pausedBy: null,
  createdAt: START,
  updatedAt: '2026-11-12T12:06:31Z',
  finishedAt: null,
  queue: { name: 'order-events' },
};
const sentence = (change: Partial<ActionState>, rate: number | null = 10, stoppedBy: string | null = null) =>
  plain(sentenceOfAction({ ...RUNNING, ...change }, { rate, stoppedBy }));

describe('the first line of an action', () => {
  it('says how far it is, and how long it still takes', () => {
    expect(sentence({})).toBe('1 198 of 1 998 dead letters are replayed. About 1 min 20 s to go.');
    expect(sentence({}, null)).toBe('1 198 of 1 998 dead letters are replayed. About 1 min 20 s to go.');
    expect(sentence({ ratePerSecond: null }, null)).toBe('1 198 of 1 998 dead letters are replayed.');
    expect(sentence({ kind: 'PURGE_QUEUE', canary: false, matched: 1_000_000 })).toMatch(
      /^1 198 of 1 000 000\+ jobs are cancelled\.$/,
    );
  });

  it('says why a step is repeated', () => {
    const repeatedStep = 'the search for its next jobs took too long; it is repeated after 1 s';
    expect(sentence({ repeatedStep })).toBe(`1 198 of 1 998 dead letters are replayed. Waiting: ${repeatedStep}.`);
  });

  it('says that the rest waits for the canary', () => {
    expect(sentence({ processed: 1 })).toBe(
      'The canary was sent. The rest (1 997 dead letters) follows when it completes.',
    );
    expect(sentence({ processed: 0, canaryJobId: null })).toMatch(/^The canary is about to be sent\./);
  });

  it('says that jobs of it wait for a paused queue, the canary as well', () => {
    const paused = { count: 3, isExact: true, queue: { id: '1', name: 'orders' } };
    const said = (change: Partial<ActionState>, count = 3, isExact = true) =>
      plain(
        sentenceOfAction(
          { ...RUNNING, ...change },
          { rate: null, stoppedBy: null, paused: { ...paused, count, isExact } },
        ),
      );
    expect(said({ processed: 1 }, 1)).toBe(
      'Waiting: queue orders is paused. The canary is delivered when the queue is resumed, and the rest (1 997) follows when it completes.',
    );
    expect(titleOfAction({ ...RUNNING, processed: 1 }, paused)).toBe('Waiting');
    expect(titleOfAction(RUNNING, paused)).toMatch(/done$/);
    expect(said({})).toMatch(/replayed\. About .* to go\. 3 of its jobs wait: queue orders is paused\.$/);
    expect(said({ status: 'COMPLETED' }, 1)).toMatch(/^Done: .* 1 of its jobs waits: queue orders is paused\.$/);
    expect(said({}, 10_000, false)).toMatch(/to go\. More than 10 000 of its jobs wait: queue orders is paused\.$/);
  });

  it('says who has paused it, and what waits', () => {
    const pause = { status: 'PAUSED', pausedAt: '2026-11-12T12:06:31Z', pausedBy: 'ann@example.org' } as const;
    expect(sentence(pause)).toBe('Paused by ann@example.org after 1 204 of 1 998 dead letters.');
    expect(plain(textOfPhrase(leadOfAction({ ...RUNNING, ...pause }, VIEW)))).toMatch(
      /at 12:04:29\. The rest \(794\) waits until the action is resumed\.$/,
    );
    // The server counts up to a million.
    const many = { ...RUNNING, ...pause, matched: 1_000_000, processed: 1 };
    expect(plain(textOfPhrase(leadOfAction(many, VIEW)))).toMatch(/The rest \(999 999\+\) waits until/);
    expect(toGoText({ ...many, status: 'COMPLETED', processed: 1_000_000 })).toBe('0');
    expect(titleOfAction({ ...RUNNING, ...pause })).toBe('Paused');
    expect(stepsOf({ ...RUNNING, ...pause }, null, null)[0]).toMatchObject({
      at: Date.parse(pause.pausedAt),
      icon: 'paused',
      signal: 'idle',
    });
    expect(plain(textOfPhrase(sentenceOfActions([{ ...RUNNING, ...pause }], true, VIEW)))).toBe(
      'No action is running. The last one, the replay of order-events, was paused at 12:06:31.',
    );
  });

  it('says how it ended', () => {
    expect(sentence({ status: 'COMPLETED' })).toBe('Done: 1 198 dead letters were replayed, 6 skipped.');
    expect(sentence({ status: 'COMPLETED', succeeded: 1, skipped: 0 })).toBe('Done: 1 dead letter was replayed.');
    expect(sentence({ status: 'COMPLETED', succeeded: 0, skipped: 0 })).toBe('Done: no dead letter was replayed.');
    expect(sentence({ status: 'CANCELLED' }, null, 'jf_4kQ…x7Pd')).toBe(
      'Stopped by jf_4kQ…x7Pd after 1 204 of 1 998 dead letters.',
    );
    expect(sentence({ status: 'FAILED', error: 'the queue was deleted' })).toBe('Failed: the queue was deleted.');
    const failed = (error: string) =>
      sentence({ status: 'FAILED', error: `the canary job 01a203417bf51c39b0e78a73 ${error}` });
    expect(failed('died (attempts_exhausted): HTTP 413')).toBe(
      'Failed: the canary died (HTTP 413), so nothing more was sent.',
    );
    expect(failed('was cancelled')).toBe('Failed: the canary was cancelled, so nothing more was sent.');
    expect(failed('was removed before it had completed')).toMatch(/canary was removed, so nothing more was sent\.$/);
  });

  it('is short in the tab', () => {
    expect(plain(titleOfAction(RUNNING))).toBe('60 % done');
    expect(titleOfAction({ ...RUNNING, status: 'CANCELLED' })).toBe('Stopped');
  });
});

describe('the rate', () => {
  const samples = (...all: [at: number, processed: number][]) =>
    all.reduce<readonly Sample[]>((sofar, [at, processed]) => addSample(sofar, { at, processed }), []);

  it('is that of the last 10 s', () => {
    const seen = samples([NOW - 30_000, 0], [NOW - 12_000, 900], [NOW - 5000, 1000], [NOW, 1020]);
    expect(seen.map(({ processed }) => processed)).toEqual([900, 1000, 1020]);
    expect(rateOfAction(RUNNING, seen, NOW)).toBe(10);
  });

  it('is the average since the start right after a reload', () => {
    expect(rateOfAction(RUNNING, samples([NOW, 1204]), NOW)).toBeCloseTo(1204 / 122);
    expect(rateOfAction({ ...RUNNING, processed: 0 }, [], NOW)).toBeNull();
  });

  it('falls when nothing comes any more', () => {
    expect(rateOfAction(RUNNING, samples([NOW - 20_000, 1000], [NOW - 19_000, 1010]), NOW)).toBe(0.5);
  });

  it('gives the time left by the lower of rate and limit', () => {
    expect(timeLeft(RUNNING, 5)).toBe(158_800);
    expect(timeLeft(RUNNING, 50)).toBe(79_400);
    expect(timeLeft({ ...RUNNING, ratePerSecond: null }, 0)).toBeNull();
  });

  it('is said with the requested limit', () => {
    expect(paceOfAction(RUNNING, 9.96)).toBe('10.0 per second, the requested limit');
    expect(paceOfAction(RUNNING, 4)).toBe('4.0 per second of the requested 10');
    expect(plain(paceOfAction({ ...RUNNING, ratePerSecond: null }, 1234.4))).toBe('1 234 per second');
    expect(paceOfAction({ ...RUNNING, status: 'COMPLETED' }, 4)).toBe('');
  });
});

describe('the timeline of an action', () => {
  const canary = { id: 'c', status: 'COMPLETED', createdAt: START, endedAt: '2026-11-12T12:04:30Z' } as const;

  it('has the steps of the action and of the canary, the newest first', () => {
    expect(stepsOf(RUNNING, canary, null).map(({ text }) => plain(text))).toEqual([
      '1 204 processed, 794 to go',
      'The canary completed, so the rest started',
      'The canary was sent:',
      'Started by jf_4kQ…x7Pd: 1 998 matched, 10 per second, 1 first',
    ]);
    const failed = stepsOf({ ...RUNNING, status: 'FAILED', error: 'the canary job died', processed: 1 }, null, null);
    expect(failed[0]).toMatchObject({ text: 'Failed: the canary job died', signal: 'bad' });
  });

  it('says who started it, and that it continues without the page', () => {
    expect(plain(textOfPhrase(leadOfAction(RUNNING, VIEW)))).toBe(
      'Queue order-events, started by jf_4kQ…x7Pd at 12:04:29. It continues if you leave this page.',
    );
    expect(textOfPhrase(leadOfAction({ ...RUNNING, queue: null }, VIEW))).toMatch(/^Started by /);
  });
});

describe('the request of an action', () => {
  it('has a word for each member that narrows it', () => {
    expect(
      pairsOfSelection({
        fingerprints: ['bc03a4af6c368fe6'],
        queueIds: ['01a2030a2612000623acf7d6'],
        receivers: ['a.example'],
        replayed: false,
        dead: {},
        created: { from: '2026-11-12' },
        attempts: { min: 2, max: 2 },
        payload: { path: 'a', op: 'EXISTS' },
        somethingNew: 3,
        dismissed: false,
        jobs: { deferCount: { min: 1 }, anyWebhookStatusClasses: [5] },
      }),
    ).toEqual([
      ['Cause', 'bc03a4af6c368fe6'],
      ['Queues', '…cf7d6'],
      ['Receivers', 'a.example'],
      ['Replayed before', 'no'],
      ['Published', '2026-11-12 to now'],
      ['Attempts', '2'],
      ['Payload', '{"path":"a","op":"EXISTS"}'],
      ['somethingNew', '3'],
      ['Dismissed', 'no'],
      ['Holds used', '1 to any'],
      ['Any answer', '5'],
    ]);
    expect(pairsOfSelection(null)).toEqual([]);
  });

  it('names kinds of work that this page does not know yet', () => {
    expect(wordsOfKind('RUN_JOBS_NOW').name).toBe('Run jobs now');
  });
});

describe('the list of actions', () => {
  const line = (...actions: (typeof RUNNING)[]) => plain(textOfPhrase(sentenceOfActions(actions, true, VIEW)));

  it('says what runs, else how the last one ended', () => {
    expect(line()).toBe('No action is running.');
    expect(line(RUNNING, RUNNING)).toBe('2 actions are running.');
    expect(line({ ...RUNNING, status: 'FAILED', finishedAt: '2026-11-12T12:05:00Z' })).toBe(
      'No action is running. The last one, the replay of order-events, failed at 12:05:00.',
    );
    expect(line(RUNNING)).toMatch(/^The replay of order-events is running\. 1 198 of 1 998 dead letters are replayed/);
  });

  it('shows how many, of how many', () => {
    expect(plain(progressText(RUNNING))).toBe('1 204 of 1 998');
    expect(plain(progressText({ ...RUNNING, processed: 1998 }))).toBe('1 998');
  });
});

describe('what became of the jobs of an action', () => {
  type Answer = Parameters<typeof sharesOf>[0];
  const group = (state: string, count: number, deadReason: string | null = null) => ({ state, deadReason, count });
  const answer = (groups: ReturnType<typeof group>[] | null, change: Partial<Answer> = {}) =>
    ({
      bulkAction: { succeeded: 60, finishedAt: START },
      jobs: { totalCount: 0, totalCountExact: true, nodes: [] },
      ...(groups !== null && { jobGroups: { groups } }),
      ...change,
    }) as Answer;
  const counts = (of: Answer) => sharesOf(of).map(({ label, count }) => [label, count]);

  it('is counted by what they wait for, or ended as', () => {
    const groups = [group('COMPLETED', 20), group('DEAD', 2, 'NACKED'), group('DEAD', 1, 'ATTEMPTS_EXHAUSTED')];
    const open = [
      group('PROCESSING', 4),
      group('AWAITING_ACK', 1),
      group('DUE', 20),
      group('RETRYING', 7),
      group('HELD', 5),
    ];
    expect(counts(answer([...groups, ...open]))).toEqual([
      ['completed', 20],
      ['dead', 3],
      ['in progress', 5],
      ['waiting', 32],
    ]);
  });

  it('names zeroes, and jobs that are cancelled or gone only if there are any', () => {
    expect(counts(answer([group('COMPLETED', 60)]))).toEqual([
      ...[
        ['completed', 60],
        ['dead', 0],
        ['in progress', 0],
        ['waiting', 0],
      ],
    ]);
    expect(counts(answer([group('DUE', 50), group('DEAD', 3, 'CANCELLED')])).slice(1)).toEqual([
      ...[
        ['dead', 0],
        ['in progress', 0],
        ['waiting', 50],
      ],
      ...[
        ['cancelled', 3],
        ['removed, or in a deleted queue', 7],
      ],
    ]);
    const running = { bulkAction: { succeeded: 60, finishedAt: null } };
    expect(counts(answer([group('DUE', 50)], running)).at(-1)).toEqual(['waiting', 50]);
  });

  it('has no number where too many jobs are not counted', () => {
    expect(counts(answer(null))).toEqual(['completed', 'dead', 'in progress', 'waiting'].map((label) => [label, null]));
  });

  it('is asked again until all have ended', () => {
    const ended = [group('COMPLETED', 60), group('DEAD', 1)];
    expect(isSettled(answer(ended))).toBe(true);
    expect(isSettled(answer(null))).toBe(true);
    expect(isSettled(answer(ended, { bulkAction: null }))).toBe(true);
    expect(isSettled(answer([...ended, group('RETRYING', 1)]))).toBe(false);
    expect(isSettled(answer(ended, { bulkAction: { succeeded: 61, finishedAt: null } }))).toBe(false);
    expect(isSettled(answer(null, { jobs: { totalCount: 2, totalCountExact: true, nodes: [] } }))).toBe(false);
  });

  it('is told of replayed jobs and of those made due, not of cancelled ones', () => {
    const kinds = ['REPLAY_DEAD_LETTERS', 'RUN_JOBS_NOW', 'CANCEL_JOBS', 'PURGE_QUEUE'] as const;
    expect(kinds.filter((kind) => hasOutcome({ kind }))).toEqual(['REPLAY_DEAD_LETTERS', 'RUN_JOBS_NOW']);
  });
});
