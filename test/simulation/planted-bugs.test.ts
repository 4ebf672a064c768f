import { afterEach, expect, it, vi } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import type * as Backoff from '../../src/domain/backoff.ts';
import type * as OutcomeModule from '../../src/domain/outcome.ts';
import type * as TransitionModule from '../../src/domain/transition.ts';
import type { JobEvent, JobState, Transition } from '../../src/domain/transition.ts';
import type * as BatcherModule from '../../src/pacing/batcher.ts';
import type * as DispatcherModule from '../../src/worker/dispatch/dispatcher.ts';
import type * as LockWatchModule from '../../src/worker/lease/lock-watch.ts';
import { itemsOf, type SettleItem } from './model/settle.ts';
import {
  afterSettling,
  answering,
  claimAnswering,
  claimAsked,
  claimSeeing,
  forgetting,
  inStatement,
  late,
  losing,
  never,
  newestLock,
  notCounting,
  notOverdue,
  ofAnyAttempt,
  overtaking,
  publishSeeing,
  reviving,
  settleAsked,
  silentAtOnce,
  withManyJobs,
  withoutBreakers,
  withoutKeys,
  withoutProbes,
  withoutToken,
  withShortLease,
} from './planted-statements.ts';
import { runSeeds } from './run.ts';
import type { Planted } from './simulation.ts';

/**
 * A green simulation shows that it found nothing wrong, not that it would find a bug. So each invariant is
 * broken here on purpose, in the code under test or in the statements below it, and the simulation must
 * report which one, within so many sequences.
 */

/** A transition in place of the right one, which may be "refused". */
type Bend = (
  decided: Transition | null,
  job: JobState,
  event: JobEvent,
  real: (job: JobState) => Transition | null,
) => Transition | null;

/** The replacements of the pure functions of `src`; null: unchanged. */
const bent = vi.hoisted(() => ({
  transition: null as Bend | null,
  backoff: null as (() => number) | null,
  retryAfter: null as ((ms: number) => number) | null,
  acceptsAll: false,
  killsTooSoon: false,
  isImpatient: false,
  leavesAtOnce: false,
  hidesOutages: false,
}));
const straight = { ...bent };

vi.mock('../../src/domain/transition.ts', async (original) => {
  const real = await original<typeof TransitionModule>();
  const transition: typeof real.transition = (job, rules, event, moment) => {
    const decided = real.transition(job, rules, event, moment);
    if (bent.transition === null) return decided;
    return bent.transition(decided, job, event, (other) => real.transition(other, rules, event, moment));
  };
  return { ...real, transition };
});
vi.mock('../../src/domain/backoff.ts', async (original) => {
  const real = await original<typeof Backoff>();
  return {
    ...real,
    backoffMs: (...given: Parameters<typeof real.backoffMs>) => bent.backoff?.() ?? real.backoffMs(...given),
  };
});
vi.mock('../../src/domain/outcome.ts', async (original) => {
  const real = await original<typeof OutcomeModule>();
  const classify: typeof real.classify = (answer, now) => {
    const outcome = real.classify(answer, now);
    if (bent.acceptsAll && answer.kind === 'answered') return { kind: 'accepted', statusCode: answer.statusCode };
    if (bent.retryAfter === null || outcome.kind !== 'backpressure') return outcome;
    return { ...outcome, retryAfterMs: bent.retryAfter(outcome.retryAfterMs) };
  };
  return { ...real, classify };
});
vi.mock('../../src/worker/lease/lock-watch.ts', async (original) => {
  const real = await original<typeof LockWatchModule>();
  class LockWatch extends real.LockWatch {
    constructor(db: Database, self: number, recoveringUntil: () => number) {
      super(
        db,
        self,
        bent.isImpatient || bent.killsTooSoon ? () => 0 : recoveringUntil,
        bent.killsTooSoon ? 0 : undefined,
      );
    }
  }
  return { ...real, LockWatch };
});
vi.mock('../../src/worker/dispatch/dispatcher.ts', async (original) => {
  const real = await original<typeof DispatcherModule>();
  class Dispatcher extends real.Dispatcher {
    override drain(): Promise<void> {
      const drained = super.drain();
      return bent.leavesAtOnce ? Promise.resolve() : drained;
    }
  }
  return { ...real, Dispatcher };
});
vi.mock('../../src/pacing/batcher.ts', async (original) => {
  const real = await original<typeof BatcherModule>();
  class Batcher<In, Out> extends real.Batcher<In, Out> {
    override add(...asked: Parameters<BatcherModule.Batcher<In, Out>['add']>): Promise<Out> {
      const answer = super.add(...asked);
      return bent.hidesOutages ? answer.catch(() => new Promise(() => undefined)) : answer;
    }
  }
  return { ...real, Batcher };
});

afterEach(() => {
  Object.assign(bent, straight);
});

function bending(change: (decided: Transition, job: JobState, event: JobEvent) => Transition | null): () => Planted {
  return () => {
    bent.transition = (decided, job, event) => decided && change(decided, job, event);
    return {};
  };
}

const BUGS: readonly [bug: string, broken: string, plant: () => Planted][] = [
  // Claim
  ['claims more than the concurrency', 'I-12', claimSeeing(() => ({ concurrency: 500 }))],
  ['claims more than the rate window gives', 'I-14', claimSeeing(() => ({ windowStart: null }))],
  ['claims of a held queue', 'I-16', claimSeeing(() => ({ holdUntil: null }))],
  [
    'lets all go when the hold is over, without a probe',
    'I-16',
    claimSeeing(({ holdUntil }, { clock }) => (holdUntil !== null && holdUntil <= clock() ? { holdUntil: null } : {})),
  ],
  ['claims beside the probe', 'I-16', claimSeeing(() => ({ probeJobId: null }))],
  ['claims of a paused queue', 'pause', claimSeeing(() => ({ pausedAt: null }))],
  ['claims of a deleted queue', 'I-28 (I-35)', claimSeeing(() => ({ deletedAt: null }))],
  ['claims before the time has come', 'I-10 (I-16)', inStatement('claim', late(150))],
  ['claims after the lifetime', 'I-11', claimSeeing(() => ({ lifetimeFloor: 4e12 }))],
  [
    'gives two claims the same token',
    'I-24',
    inStatement('claim', (tables, _name, _values, run) => {
      const rows = run() as { claim_token?: number }[];
      for (const [job, before] of tables.before) job.token = before?.token ?? 0;
      return rows.map((row) => ({ ...row, claim_token: 0 }));
    }),
  ],
  ['claims more jobs than the process has capacity for', 'capacity', claimAsked(withManyJobs)],
  ['ends leases before the webhook has answered', 'I-13 I-22 I-24', claimAsked(withShortLease)],
  ['delivers what no client has published', 'I-2', claimAnswering((row) => ({ ...row, id: 'f'.repeat(24) }))],
  [
    'sends the webhook a higher maxAttempts than the job has',
    'I-6',
    claimAnswering((row) => ({ ...row, max_attempts: row.max_attempts + 1 })),
  ],
  ['counts no usage', 'I-29', inStatement('claim', notCounting)],
  ['brings the dead back to life', 'I-18', inStatement('claim', reviving)],
  // Settle
  [
    'settles without looking at the token',
    'I-24',
    settleAsked(({ id }, { jobs }) => ({ token: String(jobs.get(id)?.token) })),
  ],
  [
    'settles without looking at the status',
    'I-24',
    settleAsked(({ id, expected }, { jobs }) => ({ expected: jobs.get(id)?.status ?? expected })),
  ],
  ['loses the entry of an attempt', 'I-22', settleAsked(() => ({ entryStatus: undefined as never }))],
  [
    'tells every report that it has won',
    'I-20',
    inStatement(/^settle/, (tables, _name, values, run) => {
      run();
      return [{ applied: itemsOf(values[0]).flatMap(({ id }) => (tables.jobs.has(id) ? [id] : [])) }];
    }),
  ],
  ['leaves no dead letter', 'I-25', afterSettling((tables) => tables.letters.clear())],
  [
    'leaves a dead letter of what was cancelled',
    'I-25',
    afterSettling((tables) => {
      for (const { id, deadReason } of tables.before.keys()) {
        if (deadReason === 'cancelled') tables.letters.set(id, { reason: deadReason } as never);
      }
    }),
  ],
  [
    'lets a shorter hold end a longer one',
    'I-16',
    inStatement(/^settle/, (tables, _name, values, run) => {
      const items = JSON.parse(values[0] as string) as SettleItem[];
      if (items.some(({ effect }) => effect === 'hold'))
        for (const queue of tables.queues.values()) queue.holdUntil = null;
      return run();
    }),
  ],
  ['forgets the end of the hold', 'I-16', settleAsked(() => ({ effectMs: 0 }))],
  // Ordinary acks
  ['acks the probe as any other job', 'I-16', inStatement('ack', withoutProbes)],
  ['acks another attempt than the one that is named', 'I-24', inStatement('ack', ofAnyAttempt)],
  [
    'tells every ack that it has won',
    'I-20',
    inStatement('ack', (_tables, _name, values, run) => {
      const [row] = run() as { acked: object[] | null; coming: string[] | null }[];
      return [{ ...row, acked: row?.acked ?? JSON.parse(values[0] as string) }];
    }),
  ],
  // Deadlines and recovery
  ['ends leases and ack deadlines too early', 'I-21 I-24', inStatement(/overdue$/, late(1500))],
  ['takes a slow worker for a dead one', 'I-35', inStatement('lease-locks', answering(newestLock))],
  ['takes a worker for dead that may still claim', 'I-35', inStatement('lease-locks', answering(silentAtOnce))],
  [
    'takes workers for dead that have just lost their locks as it has',
    'I-35',
    () => {
      bent.isImpatient = true;
      return {};
    },
  ],
  [
    'takes a worker for dead too soon',
    'I-35',
    () => {
      bent.killsTooSoon = true;
      return {};
    },
  ],
  ['never ends a lease', 'I-35', inStatement('stored-jobs-overdue', never)],
  ['never ends a lifetime', 'I-35', inStatement('stored-jobs-past-lifetime', never)],
  ['forgets what no wake-up tells', 'I-35', inStatement('queues-with-work', never)],
  ['does not ask again whether the deadline has passed', 'I-21 (I-24)', inStatement('settle-overdue', notOverdue)],
  ['takes an open socket for a lease lock that the server has', 'I-41', () => ({ believesInSocket: true })],
  // Publish
  ['makes a second job of a key', 'I-17', inStatement('publish', withoutKeys)],
  ['says 201 and keeps nothing', 'I-3', inStatement('publish', forgetting)],
  ['claims more than the concurrency when it publishes', 'I-12', publishSeeing(() => ({ concurrency: 500 }))],
  ['claims of a paused queue when it publishes', 'pause', publishSeeing(() => ({ pausedAt: null }))],
  ['claims of a held queue when it publishes', 'I-16', publishSeeing(() => ({ holdUntil: null, probeJobId: null }))],
  ['claims without a rate limit when it publishes', 'I-14', publishSeeing(() => ({ rateLimitMax: null }))],
  ['claims without a new token when it publishes', 'I-24', inStatement('publish', withoutToken)],
  ['lets new jobs overtake those that wait', 'order', inStatement('publish', overtaking)],
  ['loses a job that was published', 'I-1', inStatement('claim', losing)],
  [
    'lets a publish wait for a database that is gone',
    'I-37',
    () => {
      bent.hidesOutages = true;
      return {};
    },
  ],
  // The webhook's end
  ['delivers what is no longer its own', 'I-24 (I-13)', () => ({ sendsAlways: true })],
  [
    'reads Retry-After as milliseconds',
    'I-10',
    () => {
      bent.retryAfter = (ms) => ms / 1000;
      return {};
    },
  ],
  [
    'takes any answer for a success',
    'I-22',
    () => {
      bent.acceptsAll = true;
      return {};
    },
  ],
  [
    'stops before its deliveries have ended',
    'F-23',
    () => {
      bent.leavesAtOnce = true;
      return {};
    },
  ],
  // Transition
  [
    'has no cap on attempts',
    'I-7',
    bending((decided) =>
      decided.deadReason === 'attempts_exhausted'
        ? { ...decided, status: 'pending', deadReason: null, waitMs: 20_000 }
        : decided,
    ),
  ],
  [
    'counts an interruption as an attempt',
    'I-23',
    bending((decided, { attempts }, { type }) => (type === 'interrupted' ? { ...decided, attempts } : decided)),
  ],
  [
    'counts backpressure as an attempt',
    'I-8',
    bending((decided, { attempts }) => (decided.entry?.status === 'deferred' ? { ...decided, attempts } : decided)),
  ],
  [
    'has no cap on holds',
    'I-9',
    bending((decided, { deferCount }) =>
      decided.deadReason === 'defer_cap_exhausted'
        ? { ...decided, status: 'pending', deadReason: null, deferCount: deferCount + 1 }
        : decided,
    ),
  ],
  [
    'gives a job that kills workers another try for ever',
    'D2',
    bending((decided, { attempts, interruptions }, { type }) =>
      type === 'interrupted'
        ? {
            ...decided,
            status: 'pending',
            attempts: attempts - 1,
            interruptions: interruptions + 1,
            entry: null,
            deadReason: null,
            waitMs: 0,
          }
        : decided,
    ),
  ],
  [
    'retries without waiting',
    'I-10',
    () => {
      bent.backoff = () => 0;
      return {};
    },
  ],
  [
    'resumes no queue after its probe',
    'I-16',
    bending((decided) => (decided.queueEffect?.kind === 'resume' ? { ...decided, queueEffect: null } : decided)),
  ],
  ['opens no breaker', 'I-16', inStatement('settle', withoutBreakers)],
  [
    'ends the hold of a breaker when the webhook is changed',
    'I-16',
    inStatement('renew-breaker', (tables, _name, values, run) => {
      const rows = run();
      Object.assign(tables.queues.get(values[0] as string) ?? {}, { holdUntil: null });
      return rows;
    }),
  ],
  [
    'spares the attempts of all answers that a breaker counts',
    'I-54',
    bending((decided, job) =>
      decided.queueEffect?.kind === 'failing' && decided.entry?.status === 'failed'
        ? {
            ...decided,
            status: 'pending',
            deadReason: null,
            attempts: job.attempts - 1,
            waitMs: 1000,
            entry: { ...decided.entry, status: 'deferred' },
          }
        : decided,
    ),
  ],
  [
    'cancels what is on the wire',
    'I-19',
    () => {
      bent.transition = (decided, job, { type }, real) =>
        type === 'cancelled' && job.status === 'processing' ? real({ ...job, status: 'awaiting_ack' }) : decided;
      return {};
    },
  ],
];

/** Enough for the rarest of them, and a fraction of what the sound code is put through. */
const WITHIN = 60_000;

/** Seeds that are known to show the rarest. They come first; the others find what a later change has moved. */
const TELLING = new Map([
  ['lets a shorter hold end a longer one', 12_630],
  ['does not ask again whether the deadline has passed', 14_480],
]);

// A bug may break several promises. Each of those named must be seen broken, and no other; those in parentheses may be.
it.each(BUGS)('sees the bug that %s (%s)', { timeout: 600_000 }, async (bug, broken, plant) => {
  const planted = plant();
  const unseen = new Set(broken.split(' ').filter((invariant) => !invariant.startsWith('(')));
  const telling = TELLING.get(bug);
  for (const [first, last] of [...(telling === undefined ? [] : [[telling, telling]]), [1, WITHIN]] as const) {
    let seed = first;
    while (unseen.size > 0 && seed <= last) {
      const { failure } = await runSeeds(seed, last - seed + 1, planted);
      if (failure === null) break;
      if (process.env.SIM_TELL !== undefined) console.info(failure);
      const [, invariant = failure.message] = /^Violation: ([^ :]+)/.exec(failure.message) ?? [];
      expect(broken.split(/[ ()]+/), failure.message).toContain(invariant);
      unseen.delete(invariant);
      seed = failure.seed + 1;
    }
  }
  expect([...unseen], `not seen in ${WITHIN} sequences`).toEqual([]);
});
