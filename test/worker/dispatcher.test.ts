import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Cipher } from '../../src/db/connection/cipher.ts';
import type { Database } from '../../src/db/connection/database.ts';
import type { ClaimRequest, ClaimRow } from '../../src/db/delivery/claim.ts';
import { Egress } from '../../src/delivery/egress.ts';
import type { Sender, SendResult } from '../../src/delivery/send.ts';
import { Dispatcher } from '../../src/worker/dispatch/dispatcher.ts';
import type { DispatcherOptions } from '../../src/worker/dispatch/options.ts';
import { batched } from '../support/batched.ts';
import { claimedRow } from '../support/claimed-row.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * The dispatcher by itself: which claims it makes, and when. Database and sender are as small as what it uses of them.
 * test/simulation runs it against a model of the database, test/e2e against PostgreSQL.
 */

const LEASE_MS = 20_000;
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {}, isLevelEnabled: () => false };

/** Jobs that are due, by queue, and how a claim of them ends. */
class FakeDatabase {
  readonly cipher = new Cipher();
  readonly log = silent;
  readonly due = new Map<string, number>();
  /** Stored secrets of queues; without one, a plain text. */
  readonly secrets = new Map<string, string>();
  readonly claims: { queueIds: string[]; jobs: number[] }[] = [];
  readonly settled: { id: string; status: string }[] = [];
  /** `wait_ms` after a claim of this queue: null when its slots are taken, infinity when no job is left. */
  waitAfter = (queueId: string): number | null => (this.due.get(queueId) === 0 ? Number.POSITIVE_INFINITY : 0);
  /** Runs before each claim returns; may reject. */
  duringClaim: () => Promise<void> = async () => undefined;
  isApplied = true;
  /** A queue with more dead letters than the process will remove before it stops. */
  deletedQueue: string | null = null;
  sweeps = 0;
  #lastId = 0;

  onlyWhile(): this {
    return this;
  }

  async query(asked: { name: string }, askedWith: unknown[]): Promise<unknown[]> {
    const statement = batched(asked.name, askedWith);
    const { values } = statement;
    const queueIds = values[0] as string[];
    if (statement.name === 'accounts-of-queues') return queueIds.map((id) => ({ id, account_id: accountOf(id) }));
    if (statement.name === 'stored-jobs-pending') return [];
    if (statement.name === 'sweep-dead-letters') {
      this.sweeps += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return Array.from({ length: 500 }, () => ({ swept: 1 }));
    }
    if (statement.name !== 'claim') throw new Error(`the fake database knows no statement ${statement.name}`);
    const jobs = values[1] as ClaimRequest['limits'][number]['jobs'][];
    this.claims.push({ queueIds, jobs });
    await this.duringClaim();
    return queueIds.flatMap((queueId, index) => this.#take(queueId, jobs[index] ?? 0));
  }

  async one(asked: { name: string }, askedWith: unknown[]): Promise<unknown> {
    const { values, narrow } = batched(asked.name, askedWith);
    const settled = JSON.parse(values[0] as string) as { id: string; status: string }[];
    this.settled.push(...settled.map(({ id, status }) => ({ id, status })));
    return narrow([{ applied: this.isApplied ? settled.map(({ id }) => id) : [] }])[0];
  }

  #take(queueId: string, limit: number): unknown[] {
    const due = this.due.get(queueId) ?? 0;
    const count = Math.min(due, limit);
    this.due.set(queueId, due - count);
    const claimed = {
      queue_id: queueId,
      claimed_at: new Date(),
      wait_ms: this.waitAfter(queueId),
      queue_deleted: queueId === this.deletedQueue,
    };
    if (count === 0) return [{ ...claimed, id: null }];
    return Array.from({ length: count }, () => ({ ...claimed, ...this.#row(queueId) }));
  }

  #row(queueId: string) {
    this.#lastId += 1;
    const row = claimedRow(queueId, accountOf(queueId), this.#lastId);
    return { ...row, signing_secret: this.secrets.get(queueId) ?? row.signing_secret };
  }
}

const accountOf = (queueId: string) => `account of ${queueId.replace(/-.*/, '')}`;

/** Ends each delivery when the test decides. */
class FakeSender implements Sender {
  readonly egress = new Egress();
  readonly underWay: ((answer: SendResult) => void)[] = [];
  highest = 0;

  send({ stillMine }: Parameters<Sender['send']>[0]): Promise<SendResult> {
    if (stillMine?.(0) === false) return Promise.resolve({ abandoned: true });
    return new Promise((resolve) => {
      this.underWay.push(resolve);
      this.highest = Math.max(this.highest, this.underWay.length);
    });
  }

  answer(statusCode = 200): void {
    const answer = { kind: 'answered', statusCode, retryAfter: null } as const;
    for (const resolve of this.underWay.splice(0)) resolve({ answer, durationMs: 1, responseBody: '' });
  }

  async close(): Promise<void> {}
}

function setup(options: Partial<DispatcherOptions> = {}) {
  const db = new FakeDatabase();
  const sender = new FakeSender();
  const changed: string[] = [];
  const dispatcher = new Dispatcher({
    db: db as unknown as Database,
    sender,
    log: silent as unknown as DispatcherOptions['log'],
    changes: { changed: ({ jobId }: { jobId?: string }) => void changed.push(jobId ?? '') } as never,
    workerId: 1,
    capacity: 100,
    leaseMs: LEASE_MS,
    mayClaim: () => true,
    mayStart: async () => true,
    stillHolds: () => true,
    onRefused: () => undefined,
    locks: { lock: async () => true, unlock: async () => undefined },
    ...options,
  });
  onTestFinished(async () => {
    const drained = dispatcher.drain();
    sender.answer();
    await drained;
  });
  return { db, sender, changed, dispatcher };
}

const until = (condition: () => boolean, message: string) => waitFor(condition, { message });
/** Lets all that is ready run, timers excluded. */
const turns = async (count = 20) => {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('a wake', () => {
  it('claims, delivers, settles and announces both', async () => {
    const { db, sender, changed, dispatcher } = setup();
    db.due.set('mails', 2);
    dispatcher.wake('mails');
    await until(() => sender.underWay.length === 2, 'two deliveries');
    expect(dispatcher.inFlight).toBe(2);
    expect(changed).toEqual(['job-1', 'job-2']);
    sender.answer();
    await until(() => dispatcher.inFlight === 0, 'the end of both');
    expect(db.settled).toEqual([
      { id: 'job-1', status: 'completed' },
      { id: 'job-2', status: 'completed' },
    ]);
    expect(changed).toEqual(['job-1', 'job-2', 'job-1', 'job-2']);
  });

  it('shares one claim with other queues that were woken in the same turn', async () => {
    const { db, sender, dispatcher } = setup();
    for (const queueId of ['mails', 'videos', 'bills']) {
      db.due.set(queueId, 1);
      dispatcher.wake(queueId);
    }
    await until(() => sender.underWay.length === 3, 'three deliveries');
    expect(db.claims.map(({ queueIds }) => queueIds)).toEqual([['mails', 'videos', 'bills']]);
  });

  it('a wake during a claim of the same queue leads to one more claim, however many there were', async () => {
    const { db, dispatcher } = setup();
    let release = () => {};
    db.duringClaim = () => new Promise((resolve) => (release = resolve));
    dispatcher.wake('mails');
    await until(() => db.claims.length === 1, 'a claim');
    for (let n = 0; n < 5; n += 1) dispatcher.wake('mails', 'job');
    db.duringClaim = async () => undefined;
    release();
    await until(() => db.claims.length === 2, 'a second claim');
    await turns();
    expect(db.claims).toHaveLength(2);
  });

  it('a wake by a job claims nothing while all slots are taken; by a freed slot it does', async () => {
    const { db, sender, dispatcher } = setup();
    db.due.set('mails', 1);
    db.waitAfter = () => null;
    dispatcher.wake('mails');
    await until(() => sender.underWay.length === 1, 'a delivery');
    db.due.set('mails', 1);
    dispatcher.wake('mails', 'job');
    await turns();
    expect(db.claims).toHaveLength(1);
    sender.answer();
    await until(() => sender.underWay.length === 1, 'the next delivery');
    expect(db.claims).toHaveLength(2);
  });

  it('a wake by the reconciler costs one claim if the queue was just polled in vain', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { db, dispatcher } = setup();
    db.waitAfter = () => null;
    const claimsIn = async (ms: number) => {
      const before = db.claims.length;
      for (let passed = 0; passed < ms; passed += 50) {
        await turns(4);
        await vi.advanceTimersByTimeAsync(50);
      }
      return db.claims.length - before;
    };
    dispatcher.wake('mails');
    expect(await claimsIn(20_000)).toBe(8);
    dispatcher.wake('mails');
    expect(await claimsIn(50_000)).toBe(1);
    dispatcher.wake('mails');
    expect(await claimsIn(61_000)).toBe(1);
    dispatcher.wake('mails');
    expect(await claimsIn(20_000)).toBe(8);
    // Slots of other processes may have become free since the last poll.
    dispatcher.wake('mails', 'job');
    dispatcher.wake('mails', 'job');
    expect(await claimsIn(20_000), 'by a job').toBe(8);
  });
});

describe('capacity', () => {
  it('bounds the running deliveries of any number of queues', async () => {
    const { db, sender, dispatcher } = setup({ capacity: 10 });
    const queueIds = Array.from({ length: 20 }, (_, n) => `q${n}`);
    for (const queueId of queueIds) {
      db.due.set(queueId, 3);
      dispatcher.wake(queueId);
    }
    await until(() => {
      sender.answer();
      return db.settled.length === 60;
    }, 'the end of all');
    expect(sender.highest).toBeGreaterThan(1);
    expect(sender.highest).toBeLessThanOrEqual(10);
    for (const { jobs } of db.claims) expect(jobs.reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(10);
  });

  it('leaves room for a second account', async () => {
    const { db, sender, dispatcher } = setup({ capacity: 10 });
    db.due.set('greedy', 1000);
    db.waitAfter = () => 0;
    dispatcher.wake('greedy');
    await until(() => sender.underWay.length > 0, 'deliveries');
    await turns();
    expect(sender.underWay.length).toBeLessThan(10);
    expect(dispatcher.hasRoom('modest')).toBe(true);
  });
});

describe('a process that may not', () => {
  it('claim sends no claim, and goes on when it may again', async () => {
    let mayClaim = false;
    const { db, sender, dispatcher } = setup({ mayClaim: () => mayClaim });
    db.due.set('mails', 1);
    dispatcher.wake('mails');
    await turns();
    expect(db.claims).toEqual([]);
    mayClaim = true;
    dispatcher.resume();
    await until(() => sender.underWay.length === 1, 'a delivery');
  });

  it('start what it claimed gives it back unsent', async () => {
    const { db, sender, dispatcher } = setup({ mayStart: async () => false });
    db.due.set('mails', 1);
    dispatcher.wake('mails');
    await until(() => db.settled.length === 1, 'a settle');
    expect(sender.highest).toBe(0);
    expect(db.settled).toEqual([{ id: 'job-1', status: 'pending' }]);
  });
});

describe('a job that its publish has claimed', () => {
  it.each([
    ['claims when its slot is free if the queue was full: another process may have a job for it', ['mails'], 1],
    ['claims nothing afterwards if the queue had another slot', [], 0],
  ])('%s', async (_, full, claims) => {
    const { db, sender, dispatcher } = setup();
    const accountId = accountOf('mails');
    const reservation = dispatcher.newJobs.reserve([{ queueId: 'mails', accountId, jobs: 1, bytes: 2 }]);
    if (reservation === null) throw new Error('nothing is reserved');
    const row = { wait_ms: null, queue_deleted: false, claimed_at: new Date(), ...claimedRow('mails', accountId, 1) };
    dispatcher.newJobs.end(reservation, { now: Date.now(), rows: [row as ClaimRow], full });
    await until(() => sender.underWay.length === 1, 'the delivery');
    expect(db.claims).toHaveLength(0);
    sender.answer();
    await until(() => db.settled.length === 1, 'the outcome');
    await turns();
    expect(db.claims).toHaveLength(claims);
  });
});

describe('a process that lacks the key of a queue', () => {
  const stored = new Cipher([new Uint8Array(32)]).encrypt('signing-secret:locked', 'secret');
  const keyId = new Cipher([new Uint8Array(32)]).keyId ?? '';
  const asked = (queueId: string) => [{ queueId, accountId: accountOf(queueId), jobs: 1, bytes: 2 }];

  function openWithout(lacked: string[], isElsewhere = true) {
    const passedOn: string[] = [];
    const lackedKeys = async () => ({ lacked, isElsewhere });
    const parts = setup({ lackedKeys, passOn: (queueId) => passedOn.push(queueId) });
    parts.db.secrets.set('locked', stored);
    parts.db.due.set('locked', 3);
    return { ...parts, passedOn };
  }

  it('gives its jobs back at once, tells the others, and claims nothing more of it', async () => {
    const { db, sender, dispatcher, passedOn } = openWithout([keyId]);
    dispatcher.wake('locked');
    await until(() => db.settled.length === 3, 'the jobs to go back');
    expect(db.settled.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending']);
    await until(() => passedOn.includes('locked'), 'the others to be told');
    const before = db.claims.length;
    dispatcher.wake('locked');
    dispatcher.wakeSomewhere('locked');
    await turns();
    expect([db.claims.length, sender.highest]).toEqual([before, 0]);
    expect(dispatcher.newJobs.reserve(asked('locked'))).toBe(null);
    expect(dispatcher.hasRoom('locked')).toBe(false);
    const problem = { text: `ENCRYPTION_KEY lacks ${keyId}: nothing of 1 queue is claimed`, isElsewhere: true };
    expect(dispatcher.missingKeys.problem).toEqual(problem);

    db.due.set('open', 1);
    dispatcher.wake('open');
    await until(() => sender.underWay.length === 1, 'a delivery of a queue that it can read');
  });

  it('claims again when the key is not needed any more', async () => {
    const lacked = [keyId];
    const { db, sender, dispatcher } = openWithout(lacked);
    dispatcher.wake('locked');
    await until(() => db.settled.length === 3, 'the jobs to go back');
    lacked.length = 0;
    await dispatcher.missingKeys.look();
    expect(dispatcher.missingKeys.problem).toBe(null);
    db.secrets.clear();
    db.due.set('locked', 1);
    dispatcher.wake('locked');
    await until(() => sender.underWay.length === 1, 'a delivery');
  });
});

describe('a process that reaches no receiver', () => {
  it('claims no new jobs, and the claim that may pass is for jobs that wait', async () => {
    const { db, sender, dispatcher } = setup();
    const asked = [{ queueId: 'mails', accountId: accountOf('mails'), jobs: 1, bytes: 2 }];
    sender.egress.failed('proxy_unreachable');
    expect(dispatcher.newJobs.reserve(asked)).toBe(null);
    db.due.set('mails', 1);
    dispatcher.wake('mails');
    await turns();
    expect(db.claims).toHaveLength(1);
    sender.egress.works('proxy_unreachable');
    sender.answer();
    await until(() => db.settled.length === 1, 'the outcome');
    await turns();
    const reservation = dispatcher.newJobs.reserve(asked);
    expect(reservation).toMatchObject({ queues: asked });
    if (reservation !== null) dispatcher.newJobs.end(reservation, null);
  });
});

describe('the database', () => {
  it('a claim that fails in the database is repeated, and the problem is reported until then', async () => {
    const { db, sender, dispatcher } = setup();
    db.due.set('mails', 1);
    db.duringClaim = () => Promise.reject(new Error('no'));
    dispatcher.wake('mails');
    await until(() => dispatcher.problem === 'claims fail', 'the problem');
    db.duringClaim = async () => undefined;
    await until(() => sender.underWay.length === 1, 'a delivery');
    expect(dispatcher.problem).toBeNull();
  });

  it('an outcome that the database refuses within its lease is reported to the watch of the lease', async () => {
    const refused: number[] = [];
    const before = performance.now();
    const { db, sender, dispatcher } = setup({ onRefused: (claimedAt) => refused.push(claimedAt) });
    db.due.set('mails', 1);
    db.isApplied = false;
    dispatcher.wake('mails');
    await until(() => sender.underWay.length === 1, 'a delivery');
    sender.answer();
    await until(() => refused.length === 1, 'the refusal');
    expect(refused[0]).toBeGreaterThanOrEqual(before);
  });
});

describe('drain', () => {
  it('claims nothing more, and resolves when the running deliveries are settled', async () => {
    const { db, sender, dispatcher } = setup();
    db.due.set('mails', 1);
    dispatcher.wake('mails');
    await until(() => sender.underWay.length === 1, 'a delivery');
    let isDrained = false;
    const drained = dispatcher.drain().then(() => (isDrained = true));
    db.due.set('mails', 1);
    dispatcher.wake('mails');
    await turns();
    expect(isDrained).toBe(false);
    sender.answer();
    await drained;
    expect(db.settled).toHaveLength(1);
    expect(db.claims).toHaveLength(1);
  });

  it('does not wait until a deleted queue is empty', async () => {
    const { db, dispatcher } = setup();
    db.deletedQueue = 'mails';
    dispatcher.wake('mails');
    await until(() => db.sweeps >= 3, 'batches of the deleted queue');
    await dispatcher.drain();
    const { sweeps } = db;
    await turns();
    expect(db.sweeps).toBe(sweeps);
  });

  it('leaves a deleted queue to the worker that empties it', async () => {
    const taken = new Set<string>();
    const locksOf = () => ({
      lock: async (name: string) => !taken.has(name) && taken.add(name).has(name),
      unlock: async (name: string) => void taken.delete(name),
    });
    const [one, other] = [setup({ locks: locksOf() }), setup({ locks: locksOf() })];
    for (const { db, dispatcher } of [one, other]) {
      db.deletedQueue = 'mails';
      dispatcher.wake('mails');
      await until(() => db.claims.length === 1 && one.db.sweeps > 0, 'its claim');
    }
    await turns();
    expect(other.db.sweeps).toBe(0);
    await one.dispatcher.drain();
    // The reconciler's next round.
    other.dispatcher.wake('mails');
    await until(() => other.db.sweeps > 0, 'the other worker');
  });
});
