import { describe, expect, it } from 'vitest';
import {
  headlineOf,
  headlineOfList,
  leadOfOverview,
  problemsOf,
  type QueueState,
  signOf,
  summaryOf,
  troublesOf,
  worstFirst,
} from '../../packages/dashboard/features/queues/model/overview.ts';
import type { Condition, Depth } from '../../packages/dashboard/features/queues/model/queue-condition.ts';
import { spanOfDeath } from '../../packages/dashboard/words/death.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const view = { now: Date.parse('2026-11-12T12:04:11Z'), zone: 'utc' } as const;
const depth: Depth = {
  due: 0,
  scheduled: 0,
  retrying: 0,
  held: 0,
  processing: 0,
  awaitingAck: 0,
  nextDueAt: null,
  firstAckDeadline: null,
};

function state(
  name: string,
  condition: Condition,
  { out = 0, oldest = null as number | null, due = 0 } = {},
): QueueState {
  const queue = {
    id: name,
    name,
    concurrency: 5,
    ackTimeout: 300,
    inFlight: 0,
    paused: false,
    pause: null,
    hold: null,
    breaker: null,
    health: null,
    rateLimitWindow: 60,
    rateWindow: null,
    oldestDueSeconds: oldest,
    depth: { ...depth, due },
  };
  return { queue, condition, out };
}

describe('the order of queues', () => {
  it('has the worst first: by signal, then by the oldest due job; what moves before what is idle', () => {
    const states = [
      state('b-idle', 'idle'),
      state('z-moving', 'moving'),
      state('paused', 'paused', { oldest: 9000 }),
      state('held', 'held'),
      state('behind', 'behind', { oldest: 61 }),
      state('catching', 'catching-up', { oldest: 900 }),
      state('failing', 'failing'),
      state('a-idle', 'idle'),
    ];
    const sorted = worstFirst(states).map(({ queue }) => queue.name);
    expect(sorted).toEqual(['failing', 'catching', 'behind', 'held', 'paused', 'z-moving', 'a-idle', 'b-idle']);
    expect(problemsOf(states)).toHaveLength(5);
  });

  it('leaves those that are well by name, however late their oldest job is for a moment', () => {
    const states = [state('b', 'moving', { oldest: 3 }), state('a', 'moving'), state('c', 'moving', { oldest: 1 })];
    expect(worstFirst(states).map(({ queue }) => queue.name)).toEqual(['a', 'b', 'c']);
  });
});

describe('what needs attention', () => {
  const at = (host: string, { queue, ...rest }: QueueState) => ({
    ...rest,
    queue: { ...queue, webhookUrl: `https://${host}/in` },
  });

  it('has the queues of one receiver in one condition as one', () => {
    const troubles = troublesOf([
      at('a.example', state('z', 'failing')),
      at('b.example:8443', state('one', 'failing')),
      at('a.example', state('b', 'failing')),
      at('b.example', state('port', 'failing')),
      at('a.example', state('late', 'behind')),
    ]);
    expect(troubles.map(({ host, states }) => [host, ...states.map(({ queue }) => queue.name)])).toEqual([
      ['a.example', 'z', 'b'],
      ['b.example:8443', 'one'],
      ['b.example', 'port'],
      ['a.example', 'late'],
    ]);
    // Its id does not change with the order of its queues.
    expect(troubles.map(({ id }) => id)).toEqual(['b', 'one', 'port', 'late']);
  });

  it('has first what costs most, counted for all queues of a receiver together', () => {
    const troubles = troublesOf([
      at('one.example', state('big', 'behind', { due: 500 })),
      at('many.example', state('a', 'behind', { due: 300 })),
      at('many.example', state('b', 'behind', { due: 300 })),
      at('held.example', state('held', 'held', { due: 9000 })),
    ]);
    expect(troubles.map(({ host }) => host)).toEqual(['many.example', 'one.example', 'held.example']);
  });
});

describe('the headline of Overview', () => {
  const headline = (states: QueueState[], total = states.length, last: string | null | undefined = undefined) => {
    const { strong, soft } = headlineOf(summaryOf(states, total), last, view);
    return plain([strong, soft].map((part) => (part === null ? '' : textOfPhrase(part))).join(' ')).trim();
  };
  const [bad, moving, idle] = [state('a', 'failing'), state('b', 'moving', { out: 3.25 }), state('c', 'idle')];

  it('counts the queues that need attention', () => {
    expect(headline([bad, moving, idle])).toBe('1 of 3 queues needs attention. The other 2 are healthy.');
    expect(headline([bad, bad, idle])).toBe('2 of 3 queues need attention. The other one is healthy.');
    expect(headline([bad, bad])).toBe('All 2 queues need attention.');
    expect(headline([bad])).toBe('The queue needs attention.');
    expect(headline([bad, bad], 240)).toBe('At least 2 of 240 queues need attention.');
    expect(headline([bad, idle], 240)).toBe('1 of 240 queues needs attention. The other 239 are healthy.');
  });

  it('says that all are healthy', () => {
    expect(headline([moving, idle])).toBe('All 2 queues are healthy.');
    expect(headline([state('a', 'moving')])).toBe('The queue is healthy.');
    expect(headline([moving], 101)).toBe('All 101 queues are healthy.');
  });

  it('says since when all is quiet', () => {
    expect(headline([idle], 1, '2026-11-12T11:58:02Z')).toBe('All is quiet. The last attempt ended at 11:58:02.');
    expect(headline([idle], 1, null)).toBe('All is quiet. No attempts are on record.');
    expect(headline([idle], 1, undefined)).toBe('All is quiet.');
  });

  it('does not call idle queues quiet or healthy while no worker is running', () => {
    const said = (states: QueueState[]) =>
      textOfPhrase(headlineOf(summaryOf(states, states.length), null, view, false).strong);
    expect([said([idle]), said([moving])]).toEqual(
      Array.from({ length: 2 }, () => 'Nothing is delivered: no worker is running.'),
    );
    expect(said([bad])).toBe('The queue needs attention.');
    expect(signOf(summaryOf([idle], 1), false)).toEqual({ icon: 'failing', signal: 'bad' });
  });

  it('has the sign of the worst queue', () => {
    expect(signOf(summaryOf([state('a', 'held'), state('b', 'behind')], 2))).toEqual({
      icon: 'failing',
      signal: 'warn',
    });
    expect(signOf(summaryOf([moving, idle], 2))).toEqual({ icon: 'done', signal: 'ok' });
    expect(signOf(summaryOf([idle], 1))).toEqual({ icon: 'idle', signal: 'idle' });
  });
});

describe('the line below', () => {
  const span = { from: Date.parse('2026-11-12T11:50:00Z'), to: Date.parse('2026-11-12T12:00:00Z') };
  const lead = (
    states: QueueState[],
    recent: { all: number; failed: number; putOff?: number },
    total = states.length,
  ) => plain(textOfPhrase(leadOfOverview(states, { putOff: 0, ...recent, span }, summaryOf(states, total), view)));

  it('says how much is delivered and fails, what waits, and where', () => {
    const states = [state('search', 'behind', { out: 31, due: 950 }), state('mail', 'moving', { out: 26, due: 50 })];
    expect(lead(states, { all: 34_200, failed: 137 })).toBe(
      '57 deliveries per second from 11:50 to 12:00: 0.4 % of attempts failed. 1 000 jobs are waiting, nearly all of them in search.',
    );
    expect(lead([state('a', 'idle')], { all: 60, failed: 0, putOff: 6 })).toBe(
      '0 deliveries per second from 11:50 to 12:00: no attempts failed, 10 % were deferred. No job is waiting.',
    );
  });

  it('leaves out what is not known or not so', () => {
    const two = [state('a', 'moving', { due: 5 }), state('b', 'moving', { due: 5 })];
    expect(lead(two, { all: 0, failed: 0 })).toBe('10 jobs are waiting.');
    expect(lead([state('a', 'idle'), state('b', 'moving', { due: 1 })], { all: 0, failed: 0 })).toBe(
      '1 job is waiting in b.',
    );
    expect(lead([state('a', 'idle')], { all: 0, failed: 0 })).toBe('No job is waiting.');
  });

  it('says of which queues, if it is not of all', () => {
    expect(lead([state('a', 'stuck', { due: 5 })], { all: 0, failed: 0 }, 897)).toBe(
      'Of the 1 queue below: 5 jobs are waiting.',
    );
  });
});

describe('the headline of the list of queues', () => {
  it('says how the queues are', () => {
    const states = [state('a', 'failing'), state('b', 'moving'), state('c', 'idle'), state('d', 'idle')];
    expect(plain(headlineOfList(states, 4, ''))).toBe('4 queues: 1 needs attention, 1 is running and 2 are idle.');
    expect(plain(headlineOfList(states.slice(2), 2, 'x'))).toBe('2 queues match: 2 are idle.');
    expect(plain(headlineOfList(states, 240, ''))).toBe(
      '240 queues. Of the 4 on this page 1 needs attention, 1 is running and 2 are idle.',
    );
    expect([headlineOfList([], 0, ''), headlineOfList([], 0, 'x')]).toEqual(['No queues yet.', 'No queue matches.']);
  });
});

describe('a cause of death', () => {
  const death = {
    firstSeen: '2026-11-12T09:12:00Z',
    lastSeen: '2026-11-12T09:41:00Z',
  };

  it('is over after ten minutes without a death', () => {
    const { when, state: past } = spanOfDeath(death, view);
    expect([textOfPhrase(when), plain(past)]).toEqual(['09:12 to 09:41', 'none for 2 h 23 min']);
    const present = spanOfDeath({ ...death, lastSeen: '2026-11-12T12:00:00Z' }, view);
    expect([textOfPhrase(present.when), plain(present.state)]).toEqual(['09:12 to 12:00', 'most recently 4 min ago']);
    const single = spanOfDeath({ firstSeen: death.lastSeen, lastSeen: death.lastSeen }, view);
    expect(textOfPhrase(single.when)).toBe('at 09:41');
  });
});
