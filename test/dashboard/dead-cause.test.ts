import { describe, expect, it } from 'vitest';
import {
  type CauseNow,
  causesToShow,
  conditionOfCause,
  headOfCauses,
  hiddenBy,
  leadOfCause,
  newCauses,
  reachBesides,
  saidOfCause,
} from '../../packages/dashboard/features/dead-letters/model/cause.ts';
import { titleOfDeath } from '../../packages/dashboard/words/cause.ts';
import { spanOfDeath } from '../../packages/dashboard/words/death.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';
import {
  durationOfReplay,
  labelOfReplay,
  limitsOfQueue,
  planRefusal,
  type ReplayQueue,
  safetyOfReplay,
  safetyOfReplays,
  termsOfReplay,
} from '../../packages/dashboard/words/replay.ts';
import { type Answers, isWell } from '../../packages/query/words/answers.ts';

const NOW = Date.parse('2026-11-12T12:04:11Z');
const VIEW = { now: NOW, zone: 'utc' } as const;
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

const answers = (ok: number, failed: number): Answers => ({
  answered2xx: ok,
  answered3xx: 0,
  answered4xx: 0,
  answered5xx: failed,
  backpressure: 0,
  unanswered: 0,
  unauthorized: 0,
});
/** Health from the outcomes of attempts. */
const health = (ok: number, failed: number, deferred = 0) => ({
  attempts: ok + failed + deferred,
  failed,
  deferred,
  past: null,
});
const QUEUE = { id: 'q1', name: 'order-events', maxDefers: 50, ackTimeout: 300, health: answers(99, 1) };

function cause(
  change: Partial<CauseNow> = {},
  attempts = 5,
  body: string | null = 'pool exhausted\nat line 3',
): CauseNow {
  return {
    reason: 'ATTEMPTS_EXHAUSTED',
    error: 'HTTP 500',
    webhookStatusCode: 500,
    count: 1998,
    firstSeen: '2026-11-12T09:12:00Z',
    lastSeen: '2026-11-12T09:41:00Z',
    queue: QUEUE,
    sample: { lastAttempt: { attempt: attempts, responseBody: body } },
    ...change,
  };
}

describe('the reach of a dismissal', () => {
  const part = (id: string, count: number) => ({ count, queue: { id, name: `queue-${id}` } });
  const reach = (queueCount: number, ...queues: ReturnType<typeof part>[]) => {
    const text = reachBesides({ queueCount, queues }, 'a');
    return text === null ? null : plain(text);
  };

  it('leaves out what is replayed or hidden already', () => {
    expect(hiddenBy('f')).toEqual({ fingerprints: ['f'], replayed: false, dismissed: false });
  });

  it('is named if other queues have the cause, too', () => {
    expect(reach(1, part('a', 300))).toBeNull();
    expect(reachBesides(undefined, 'a')).toBeNull();
    expect(reach(2, part('a', 300), part('b', 1))).toBe('1 dead letter in queue-b');
    expect(reach(6, part('a', 300), part('b', 90), part('c', 10), part('d', 4), part('e', 1), part('f', 1))).toBe(
      '106 dead letters in queue-b, queue-c, queue-d and 2 more queues',
    );
    // The page asks for forty queues: more cost more than a request may.
    expect(reach(140, part('a', 300), part('b', 90))).toBe('90+ dead letters in queue-b and 138 more queues');
  });
});

describe('the title of a cause', () => {
  it.each<[Partial<CauseNow>, string]>([
    [{}, 'Receiver answered 500, 5 times'],
    [{ error: 'HTTP 401', webhookStatusCode: 401 }, 'Receiver rejected the signature (401)'],
    [{ error: 'timeout', webhookStatusCode: null }, 'Receiver did not answer within 15 s, 5 times'],
    [{ error: 'connection_refused', webhookStatusCode: null }, 'Receiver refused the connection, 5 times'],
    [{ error: 'dns_error', webhookStatusCode: null }, 'Receiver’s host name was not found, 5 times'],
    [{ error: 'ack_timeout', webhookStatusCode: 202 }, 'Worker did not report within 5 min'],
    [{ error: 'out of stock', webhookStatusCode: 202 }, 'Worker said “out of stock”, 5 times'],
    [{ reason: 'ACK_TIMEOUT' }, 'Worker did not report within 5 min'],
    [{ reason: 'NACKED', error: 'out of stock' }, 'Worker refused it: “out of stock”'],
    [{ reason: 'NACKED', error: null }, 'Worker refused it for good'],
    [{ reason: 'NACKED', error: 'HTTP 422', webhookStatusCode: 422 }, 'Receiver refused it for good with 422'],
    [{ reason: 'NACKED', error: 'HTTP 404', webhookStatusCode: 202 }, 'Worker refused it: “HTTP 404”'],
    [{ reason: 'DEFER_CAP_EXHAUSTED', webhookStatusCode: 429 }, '50 holds used up (429)'],
    [
      { reason: 'RETRY_AFTER_EXCEEDS_LIFETIME', webhookStatusCode: 503 },
      'Receiver asked to wait past the end of the lifetime (503)',
    ],
    [{ reason: 'DELIVERY_LIFETIME_EXCEEDED' }, 'Lifetime ended before it was delivered'],
  ])('the title of the cause %o is “%s”', (change, title) => {
    expect(plain(titleOfDeath(cause(change), 15))).toBe(title);
  });

  it('does not count a single attempt, and does without a sample', () => {
    expect(titleOfDeath(cause({}, 1), 15)).toBe('Receiver answered 500');
    expect(titleOfDeath(cause({ queue: null, sample: null }), 15)).toBe('Receiver answered 500');
    expect(titleOfDeath(cause({ queue: null, reason: 'ACK_TIMEOUT' }), 15)).toBe('Worker did not report in time');
  });

  it('says less of a queue of which less is known', () => {
    const title = (change: Partial<CauseNow>) =>
      titleOfDeath({ ...cause(change), queue: { maxAttempts: 3 }, sample: null }, 15);
    expect(title({})).toBe('Receiver answered 500, 3\u00a0times');
    expect(title({ error: 'ack_timeout', webhookStatusCode: 202 })).toBe('Worker did not report in time');
    expect(title({ reason: 'DEFER_CAP_EXHAUSTED', webhookStatusCode: null })).toBe('All holds used up');
  });

  it('has the first line of the last answer below it, else the error', () => {
    expect(saidOfCause(cause())).toBe('pool exhausted');
    expect(saidOfCause(cause({ error: 'ack_timeout' }, 1, ''))).toBe('ack timeout');
    expect(saidOfCause(cause({}, 1, null))).toBe('an answer without a body');
  });
});

describe('the condition of a cause', () => {
  it('is over ten minutes after the last death, if the receiver is well', () => {
    const at = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
    expect(conditionOfCause(cause({ lastSeen: at(11) }), NOW)).toBe('over');
    expect(conditionOfCause(cause({ lastSeen: at(9) }), NOW)).toBe('recent');
    const ill = { ...QUEUE, health: answers(94, 6) };
    expect(conditionOfCause(cause({ lastSeen: at(11), queue: ill }), NOW)).toBe('unknown');
    expect(conditionOfCause(cause({ lastSeen: at(11), queue: null }), NOW)).toBe('unknown');
    // Repaired a minute ago: ten in a row say more than the death before.
    const recovered = { ...QUEUE, health: { ...answers(80, 240), lastFailure: { succeededSince: 10 } } };
    expect(conditionOfCause(cause({ lastSeen: at(1), queue: recovered }), NOW)).toBe('recovered');
    const nacked = { lastSeen: at(1), queue: recovered, reason: 'NACKED' as const };
    expect(conditionOfCause(cause({ ...nacked, error: 'out of stock' }), NOW)).toBe('recent');
    // Here the receiver itself has refused it.
    expect(conditionOfCause(cause({ ...nacked, error: 'HTTP 422', webhookStatusCode: 422 }), NOW)).toBe('recovered');
    // A worker that does not report says nothing about the receiver.
    expect(conditionOfCause(cause({ lastSeen: at(11), error: 'ack_timeout' }), NOW)).toBe('unknown');
  });

  it('is new when it began within an hour, unless most of them did', () => {
    const [old, fresh] = [cause(), cause({ firstSeen: '2026-11-12T11:30:00Z' })];
    expect([...newCauses([old, fresh], NOW)]).toEqual([fresh]);
    expect(newCauses([old, fresh, { ...fresh }], NOW).size).toBe(0);
  });

  it('calls a receiver well after ten answers, 19 of 20 of them 2xx', () => {
    expect([answers(10, 0), answers(95, 5)].map(isWell)).toEqual([true, true]);
    expect([answers(9, 0), answers(94, 6), null].map(isWell)).toEqual([false, false, false]);
  });

  it('says from when to when', () => {
    const { when, state } = spanOfDeath(cause(), VIEW);
    expect(plain(textOfPhrase(when))).toBe('09:12 to 09:41');
    expect(plain(state)).toBe('none for 2 h 23 min');
    const fresh = spanOfDeath(cause({ lastSeen: '2026-11-12T12:03:51Z' }), VIEW);
    expect(plain(textOfPhrase(fresh.when))).toBe('09:12 to 12:03');
    expect(plain(fresh.state)).toBe('most recently 20 s ago');
    const short = spanOfDeath(cause({ lastSeen: '2026-11-12T09:12:59Z' }), VIEW);
    expect(plain(textOfPhrase(short.when))).toBe('at 09:12');
  });
});

describe('the first line of Dead letters', () => {
  const head = (causes: CauseNow[], isDefault = true) => {
    const { first, more } = headOfCauses(causes, { isDefault, view: VIEW });
    return plain(`${first} ${more}`.trim());
  };

  it('has the number, the causes, and the one that is most of them', () => {
    const small = cause({ count: 228, lastSeen: '2026-11-12T12:04:00Z' });
    expect(head([cause(), small])).toBe(
      '2 226 dead jobs have not been replayed. One of 2 causes accounts for 90 %, none for 2 h 23 min.',
    );
    expect(head([small, small, small])).toBe('684 dead jobs have not been replayed (3 causes).');
    expect(head([small])).toBe('228 dead jobs have not been replayed (1 cause). Most recently 11 s ago.');
    expect(head([cause({ count: 1 })], false)).toBe('1 dead letter matches (1 cause). None for 2 h 23 min.');
  });

  it('is a lower bound only if a queue has more than 20 causes, or all of them are 100', () => {
    const of = (id: string, length: number) =>
      Array.from({ length }, () => ({ ...cause({ count: 7 }), queue: { ...QUEUE, id } }));
    const said = (returned: CauseNow[]) => {
      const { causes, isAll } = causesToShow(returned as (CauseNow & { queue: { id: string } })[]);
      return plain(headOfCauses(causes, { isAll, isDefault: true, view: VIEW }).first);
    };
    expect(said([...of('a', 20), ...of('b', 15)])).toBe('245 dead jobs have not been replayed (35 causes).');
    expect(said([...of('a', 21), ...of('b', 15)])).toBe('245+ dead jobs have not been replayed (35+ causes).');
    expect(said('abcdefghij'.split('').flatMap((id) => of(id, 10)))).toMatch(/^700\+ dead jobs .* \(100\+ causes\)\.$/);
  });

  it('does not say the share of a cause more exactly than it is known', () => {
    const { more } = headOfCauses([cause(), cause({ count: 228 })], { isAll: false, isDefault: true, view: VIEW });
    expect(plain(more)).toBe('One of 2+ causes accounts for at most 90 %, none for 2 h 23 min.');
  });

  it('says what happened, and how the receiver is now', () => {
    const lead = (change: Partial<CauseNow>) => plain(textOfPhrase(leadOfCause(cause(change), 15, VIEW) ?? []));
    const now = 'It accepted 99 % of its deliveries in the last hour.';
    expect(lead({})).toBe(`The receiver of order-events answered 500 from 09:12 to 09:41. ${now}`);
    expect(lead({ reason: 'ACK_TIMEOUT' })).toBe(
      `order-events: worker did not report within 5 min from 09:12 to 09:41.`,
    );
    const recovered = { ...QUEUE, health: { ...answers(80, 240), lastFailure: { succeededSince: 80 } } };
    expect(lead({ queue: recovered })).toMatch(/09:41\. All 80 attempts since the last failure succeeded\.$/);
    expect(leadOfCause(cause({ queue: null }), 15, VIEW)).toBeNull();
  });
});

describe('the price of a replay', () => {
  const queue: ReplayQueue = {
    name: 'order-events',
    paused: false,
    hold: null,
    concurrency: 10,
    rateLimitMax: null,
    rateLimitWindow: 60,
    maxAttempts: 5,
    backoffType: 'EXPONENTIAL',
    backoffDelay: 4,
    health: health(99, 1),
  };

  it('takes as long as the lower of speed and rate limit', () => {
    const duration = (speed: 1 | 10 | null, change: Partial<ReplayQueue> = {}) =>
      durationOfReplay(1998, speed, { ...queue, ...change }).map(plain);
    expect(duration(10)).toEqual(['3 min 20 s', 'at 10 per second']);
    expect(duration(10, { rateLimitMax: 60 })).toEqual(['33 min 18 s', 'at the queue’s rate limit']);
    expect(duration(null, { rateLimitMax: 60 })).toEqual(['33 min 18 s', 'at the queue’s rate limit']);
    expect(duration(null)).toEqual(['–', 'as fast as limits allow']);
  });

  it('says whether the jobs would die again', () => {
    const strong = (change: Partial<ReplayQueue>) => safetyOfReplay({ ...queue, ...change }).strong;
    expect(strong({})).toBe('The receiver was healthy in the last hour:');
    expect(strong({ health: health(2, 98) })).toBe('The receiver was failing in the last hour:');
    expect(strong({ health: health(80, 20) })).toBe('The receiver was unreliable in the last hour:');
    // Jobs that are deferred do not die of it.
    expect(strong({ health: health(40, 0, 60) })).toBe('The receiver deferred jobs in the last hour:');
    expect(strong({ health: health(0, 0) })).toMatch(/unknown/);
    const since = (succeededSince: number) => ({ health: { ...health(80, 240), lastFailure: { succeededSince } } });
    expect(strong(since(80))).toBe('The receiver works again.');
    expect(safetyOfReplay({ ...queue, ...since(9) }).text).toMatch(/The last 9 succeeded, so send 1 first\.$/);
    expect(plain(safetyOfReplay({ ...queue, ...since(0) }).text)).toBe(
      'only 25 % of 320 attempts succeeded. These jobs may die again, so send 1 first.',
    );
    expect(strong({ health: health(5, 0) })).toMatch(/unknown/);
    const past = (failed: number) => ({ health: { ...health(0, 0), past: { attempts: failed, failed } } });
    expect(safetyOfReplay({ ...queue, ...past(100) })).toMatchObject({
      signal: 'bad',
      strong: 'The receiver was failing when it was last tried:',
    });
    expect(plain(safetyOfReplay({ ...queue, ...past(100) }).text)).toBe(
      '100 of 100 attempts failed, and none has succeeded since. These jobs may die again, so send 1 first.',
    );
    expect(plain(safetyOfReplay({ ...queue, ...past(3) }).text)).toBe(
      '3 of 3 attempts failed, and none has succeeded since. Send 1 first.',
    );
    expect(strong({ paused: true })).toBe('The queue is paused.');
    expect(plain(safetyOfReplay(queue).text)).toBe('99 % of 100 attempts succeeded.');
  });

  it('a replay of several queues is as safe as the worst of them', () => {
    const receiver = (name: string, of: ReplayQueue['health'], change: Partial<ReplayQueue> = {}) => {
      return { name, paused: false, hold: null, health: of, ...change };
    };
    const [well, ill] = [receiver('a', health(99, 1)), receiver('b', health(2, 98))];
    const quiet = receiver('c', health(1, 0));
    expect(safetyOfReplays([well, well])).toMatchObject({
      signal: 'ok',
      strong: 'Of 2 queues, all were healthy in the last hour.',
    });
    expect(safetyOfReplays([well, well], false)?.strong).toBe(
      'Of the 2 queues with the most jobs, all were healthy in the last hour.',
    );
    expect(safetyOfReplays([well, ill, quiet])).toMatchObject({
      signal: 'bad',
      strong: 'Of 3 queues, 1\u00a0was unhealthy in the last hour.',
      text: 'Jobs in b may die again. Replay the others by their cause, or send 1 first.',
    });
    const before = receiver('e', { ...health(0, 0), past: { attempts: 50, failed: 50 } });
    expect(plain(safetyOfReplays([well, before])?.strong ?? '')).toBe('Of 2 queues, 1 was unhealthy when last tried.');
    expect(safetyOfReplays([well, quiet, receiver('d', null, { paused: true })])).toMatchObject({
      strong: 'Of 3 queues, 1\u00a0was healthy in the last hour.',
      text: 'Unknown: c and d. They are paused, held, deferring, or had too few attempts.',
    });
    expect(safetyOfReplays([well])).toEqual(safetyOfReplay(well));
    expect(safetyOfReplays([])).toBeNull();
  });

  it('a replay of several queues knows no common limit or settings', () => {
    expect(durationOfReplay(1998, 10, null).map(plain)).toEqual(['3 min 20 s', 'at 10 per second']);
    expect(plain(termsOfReplay(1998, null))).toBe(
      'Each becomes a new job with a new id and its queue’s current settings. Uses at least 1 998 attempts of this month’s allowance.',
    );
    expect(limitsOfQueue(null)).toBe('Each queue’s own limits still apply.');
  });

  it('names what it uses of the month, and where the plan ends it', () => {
    expect(plain(termsOfReplay(1998, queue))).toBe(
      'Each becomes a new job with a new id and its queue’s current settings: 5 attempts, backoff from 4 s. Uses 1 998 to 9 990 attempts of this month’s allowance.',
    );
    expect(plain(termsOfReplay(1, { ...queue, maxAttempts: 1 }))).toMatch(
      /: 1 attempt\. Uses 1 attempt of this month’s allowance\.$/,
    );
    expect(planRefusal(10, 90, 100)).toBeNull();
    expect(planRefusal(10, 90, null)).toBeNull();
    expect(plain(planRefusal(11, 90, 100) ?? '')).toBe(
      'Only 10 attempts are left of this month’s 100: the replay will stop there.',
    );
    expect(planRefusal(1, 100, 100)).toMatch(/will be refused/);
  });

  it('says that there may be more than a million', () => {
    const jobs = 1_000_000;
    expect(labelOfReplay(jobs, false)).toMatch(/000\+ again$/);
    expect(plain(labelOfReplay(jobs, true))).toBe('Send 1, then 999 999+');
    expect(durationOfReplay(jobs, 10, null)[0]).toMatch(/\+$/);
    expect(plain(termsOfReplay(jobs, queue))).toContain('Uses at least 1 000 000 attempts');
  });

  it('is on the button', () => {
    expect([labelOfReplay(1998, true), labelOfReplay(1998, false), labelOfReplay(1, true)].map(plain)).toEqual([
      ...['Send 1, then 1 997', 'Send 1 998 again', 'Send 1 again'],
    ]);
  });
});
