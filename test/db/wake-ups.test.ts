import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { settle } from '../../src/db/delivery/settle.ts';
import { findJob } from '../../src/db/delivery/stored-job.ts';
import { queuesWithWork } from '../../src/db/delivery/wake-ups.ts';
import { extendAckDeadline, runJobNow } from '../../src/db/jobs/operations.ts';
import { pauseQueue, resumeQueue } from '../../src/db/queues/operations.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import type { JobEvent } from '../../src/domain/transition.ts';
import { expireDeadlines } from '../../src/worker/maintenance/recover.ts';
import {
  backpressure,
  DELIVERED,
  FAILED,
  type Fixture,
  INTERRUPTED,
  LIFETIME_MS,
  moveBookmarks,
  openFixture,
  PERIODS,
  type QueueColumns,
  settlementOf,
  type TestQueue,
  takeOverClock,
} from '../support/database-fixture.ts';

/**
 * Every job that can move later has a wake-up at or before that moment, and what can move now is seen by the reconciler
 * (docs/decisions/0058).
 * The model runs both as a worker does, and is stricter: after a settle, a publish or a report no process remembers the
 * queue, as if the process had been killed right after the commit. Only what is in `graphile_worker.jobs`, the timers
 * that a wake-up's own claim sets, and the reconciler may move a job.
 */
const START = Date.UTC(2026, 10, 21, 12);
/** `Deadlines` keeps a timer of its own for what passes this soon. */
const OWN_TIMER_MS = 6000;
/** A row fires so early at most (`jobferry_wake`), and may be used up from then on. */
const EARLY_MS = 5000;
const RECONCILE_MS = 5000;

let fixture: Fixture;
let setClock: (ms: number) => Promise<void>;
beforeAll(async () => {
  fixture = await openFixture();
  await moveBookmarks(fixture.db);
  setClock = await takeOverClock(fixture.db, START);
});

type Op =
  | { kind: 'publish'; delayMs: number }
  /** One of the jobs in flight ends: by its answer, or by its report when it awaits one. */
  | { kind: 'end'; pick: number; answer: JobEvent; report: JobEvent }
  /** A client cancels a job, makes it due, or extends its ack deadline. */
  | { kind: 'cancel' | 'run now' | 'extend'; pick: number; ms: number }
  | { kind: 'pause' }
  | { kind: 'resume' }
  | { kind: 'pass'; ms: number };

const someMs = fc.constantFrom(0, 300, 1000, 1700, 2600, 25_000);
const op: fc.Arbitrary<Op> = fc.oneof(
  fc.record({ kind: fc.constant('publish' as const), delayMs: someMs }),
  fc.record({
    kind: fc.constant('end' as const),
    pick: fc.nat(1),
    answer: fc.oneof(fc.constantFrom(DELIVERED, DELIVERED, FAILED, INTERRUPTED), someMs.map(backpressure)),
    report: fc.oneof(
      fc.constant<JobEvent>({ type: 'acked' }),
      fc.constant<JobEvent>({ type: 'nacked', retryable: true, reason: null }),
      fc.record({
        type: fc.constant('deferred' as const),
        retryAfterMs: someMs,
        scope: fc.constantFrom('queue' as const, 'job' as const),
        reason: fc.constant(null),
      }),
    ),
  }),
  fc.record({
    kind: fc.constantFrom('cancel' as const, 'run now' as const, 'extend' as const),
    pick: fc.nat(2),
    ms: someMs,
  }),
  fc.constantFrom<Op>({ kind: 'pause' }, { kind: 'resume' }, { kind: 'resume' }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: someMs }) },
);
const columns: fc.Arbitrary<QueueColumns> = fc.record({
  mode: fc.constantFrom('standard', 'ack'),
  concurrency: fc.integer({ min: 1, max: 2 }),
  rate_limit_max: fc.constantFrom(null, null, 2),
  rate_limit_window: fc.constantFrom(0.5, 4),
  ack_timeout: fc.constantFrom(0.4, 3, 30),
  backoff_delay: fc.constantFrom(0, 0.9, 3),
  max_attempts: fc.constant(5),
});

interface Row {
  id: string;
  status: 'pending' | 'processing' | 'awaiting_ack';
  due: number;
}

class Model {
  readonly queue: TestQueue;
  readonly settings: QueueColumns;
  now: number;
  /** Times of the database clock at which this process polls again by itself. */
  deliverTimer = Number.POSITIVE_INFINITY;
  timeoutTimer = Number.POSITIVE_INFINITY;
  #lookedAt: number;

  constructor(queue: TestQueue, settings: QueueColumns, now: number) {
    this.queue = queue;
    this.settings = settings;
    this.now = now;
    this.#lookedAt = now;
  }

  async run(next: Op): Promise<void> {
    if (next.kind === 'publish') await fixture.publishJobs(this.queue, 1, { delayMs: next.delayMs });
    else if (next.kind === 'pass') await this.#pass(next.ms);
    else if (next.kind === 'end') await this.#end(next);
    else if (next.kind === 'pause') await pauseQueue(fixture.db, this.#by, this.queue.id);
    else if (next.kind === 'resume') await resumeQueue(fixture.db, this.#by, this.queue.id, LIFETIME_MS);
    else await this.#operate(next);
  }

  get #by() {
    return { accountId: fixture.accountId, actor: OPERATOR };
  }

  async #operate(next: Op & { kind: 'cancel' | 'run now' | 'extend' }): Promise<void> {
    const suits = { cancel: ['pending', 'awaiting_ack'], 'run now': ['pending'], extend: ['awaiting_ack'] }[next.kind];
    const rows = (await this.jobs()).filter((row) => suits.includes(row.status));
    const row = rows[next.pick % Math.max(1, rows.length)];
    const job = row && (await findJob(fixture.db, row.id, fixture.accountId, PERIODS));
    if (!job) return;
    if (next.kind === 'cancel') await settle(fixture.db, [settlementOf(job, { type: 'cancelled' }, this.now)]);
    else if (next.kind === 'run now') await runJobNow(fixture.db, this.#by, job);
    else await extendAckDeadline(fixture.db, job, { ms: next.ms, progress: null });
  }

  async #end(next: Op & { kind: 'end' }): Promise<void> {
    const inFlight = (await this.jobs()).filter((row) => row.status !== 'pending');
    const row = inFlight[next.pick % Math.max(1, inFlight.length)];
    const job = row && (await findJob(fixture.db, row.id, fixture.accountId, PERIODS));
    if (!job) return;
    const event = job.state.status === 'processing' ? next.answer : next.report;
    await settle(fixture.db, [settlementOf(job, event, this.now)]);
  }

  /** Time passes for the database's clock and for graphile-worker's, and then everything due is run. */
  async #pass(ms: number): Promise<void> {
    this.now += ms;
    await setClock(this.now);
    await fixture.db.query(`update graphile_worker._private_jobs set run_at = run_at - $1 * interval '1 ms'`, [ms]);
    for (let round = 1; await this.#runDue(); round += 1) {
      if (round === 50) throw new Error('a wake-up brings itself back');
    }
  }

  async #runDue(): Promise<boolean> {
    const taken = await fixture.db.query<{ identifier: string }>(
      `delete from graphile_worker._private_jobs j using graphile_worker._private_tasks t
        where t.id = j.task_id and j.run_at <= clock_timestamp() and j.payload ->> 'queueId' = $1 returning t.identifier`,
      [this.queue.id],
    );
    const tasks = new Set(taken.map((row) => row.identifier));
    if (this.deliverTimer <= this.now) tasks.add('deliver');
    if (this.timeoutTimer <= this.now) tasks.add('timeout');
    if (this.#lookedAt + RECONCILE_MS <= this.now) {
      this.#lookedAt = this.now;
      const found = await queuesWithWork(fixture.db, [this.queue.id]);
      if (found.due.length > 0) tasks.add('deliver');
      if (found.overdue.length > 0) tasks.add('timeout');
    }
    if (tasks.has('deliver')) await this.#claim();
    if (tasks.has('timeout')) await this.#expire();
    return tasks.size > 0;
  }

  async #claim(): Promise<void> {
    const { waitMs } = await fixture.claim(this.queue);
    this.deliverTimer = waitMs === null ? Number.POSITIVE_INFINITY : this.now + waitMs;
  }

  async #expire(): Promise<void> {
    const { nextMs } = await expireDeadlines(fixture.db, this.queue.id);
    const isSoon = nextMs !== null && nextMs <= OWN_TIMER_MS;
    this.timeoutTimer = isSoon ? this.now + nextMs : Number.POSITIVE_INFINITY;
  }

  /** Jobs that are not terminal, with the moment at which time alone lets them move. */
  jobs(): Promise<Row[]> {
    return fixture.db.query<Row & { due: number }>(
      `select j.id, j.status, (extract(epoch from case
                when j.status <> 'pending' then j.deadline
                else greatest(j.scheduled_for, q.hold_until, case
                  when w.used >= q.rate_limit_max
                  then w.starts + q.rate_limit_window * interval '1 s' end) end) * 1000)::float8 as due
         from job j join queue q on q.id = j.queue_id left join rate_window w on w.queue_id = q.id
        where j.queue_id = $1 and j.status in ('pending', 'processing', 'awaiting_ack') order by j.id`,
      [this.queue.id],
    );
  }

  /** First wake-up of a task, on the database clock. */
  async #wakeUp(task: 'deliver' | 'timeout'): Promise<number> {
    const row = await fixture.db.one<{ in_ms: number | null }>(
      `select (extract(epoch from min(run_at) - clock_timestamp()) * 1000)::float8 as in_ms from graphile_worker.jobs
        where task_identifier = $1 and key like $1 || ':' || $2 || ':%' and locked_at is null`,
      [task, this.queue.id],
    );
    const timer = task === 'deliver' ? this.deliverTimer : this.timeoutTimer;
    return Math.min(timer, this.now + (row?.in_ms ?? Number.POSITIVE_INFINITY));
  }

  async check(): Promise<void> {
    const jobs = await this.jobs();
    const inFlight = jobs.filter((job) => job.status !== 'pending');
    const stopped = await fixture.db.one(
      'select from queue where id = $1 and (probe_job_id is not null or paused_at is not null)',
      [this.queue.id],
    );
    // These wait for another job, which is checked itself, or for a client to resume the queue.
    const isBlocked = stopped !== null || inFlight.length >= (this.settings.concurrency ?? 1);
    const waiting = isBlocked ? [] : jobs.filter((job) => job.status === 'pending');
    // The end of a lease has none: workers that die are seen.
    const timed = { deliver: waiting, timeout: jobs.filter((job) => job.status === 'awaiting_ack') };
    for (const task of ['deliver', 'timeout'] as const) {
      const later = timed[task].filter((job) => job.due > this.now + EARLY_MS).map((job) => job.due);
      if (later.length === 0) continue;
      const due = Math.min(...later);
      expect(await this.#wakeUp(task), `${task} wake-up by ${due - this.now} ms from now`).toBeLessThanOrEqual(due);
    }
    const found = await queuesWithWork(fixture.db, [this.queue.id]);
    const isNow = (some: readonly Row[]) => some.some((job) => job.due <= this.now);
    expect(found.overdue).toEqual(isNow(inFlight) ? [this.queue.id] : []);
    if (isNow(waiting)) expect(found.due).toEqual([this.queue.id]);
  }
}

const PUBLISH: Op = { kind: 'publish', delayMs: 0 };
const END: Op = { kind: 'end', pick: 0, answer: DELIVERED, report: { type: 'acked' } };
/** Sequences that were once wrong. */
const EXAMPLES: [QueueColumns, Op[]][] = [
  // The second job's wake-up fires while the queue is full, and the slot is free before its time.
  [
    { concurrency: 1 },
    [PUBLISH, { kind: 'pass', ms: 0 }, { kind: 'publish', delayMs: 1700 }, { kind: 'pass', ms: 0 }, END],
  ],
  // The third job's wake-up fires a second before the window that it waits for.
  [
    { concurrency: 2, rate_limit_max: 2, rate_limit_window: 4 },
    [PUBLISH, PUBLISH, PUBLISH, { kind: 'pass', ms: 2600 }, END, END, { kind: 'pass', ms: 1000 }],
  ],
];

describe('wake-ups', () => {
  it('exist for every job that can still move, after any operations', async () => {
    let now = START;
    await fc.assert(
      fc.asyncProperty(columns, fc.array(op, { minLength: 5, maxLength: 20 }), async (settings, ops) => {
        const model = new Model(await fixture.createQueue(settings), settings, now);
        for (const next of ops) {
          await model.run(next);
          await model.check();
        }
        // The next begins where a window of every length and a second do.
        now = Math.ceil(model.now / 4000) * 4000;
        await setClock(now);
      }),
      { numRuns: 60, examples: EXAMPLES },
    );
  });
});
