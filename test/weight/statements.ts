import type { Database } from '../../src/db/connection/database.ts';
import { ackJobs } from '../../src/db/delivery/ack.ts';
import { type ClaimedJob, readable } from '../../src/db/delivery/claim.ts';
import { publishAndClaim } from '../../src/db/delivery/publish.ts';
import { settle } from '../../src/db/delivery/settle.ts';
import type { JobEvent } from '../../src/domain/transition.ts';
import {
  changeFunction,
  DELIVERED,
  FAILED,
  LEASE_MS,
  moveBookmarksIf,
  openFixture,
  PERIODS,
  type QueueColumns,
  settlementOf,
  type TestQueue,
} from '../support/database-fixture.ts';
import { type Figures, figure, type Group } from './figures.ts';
import { type Counters, openCounters } from './server.ts';

/** A usual payload. */
const PAYLOAD = '{"to":"someone@example.com","template":"welcome","n":12345,"tags":["a","b","c"]}';
/** After five calls a session decides whether it keeps the plan of a statement (`plan_cache_mode`). */
const WARM_UP = 8;
/** Jobs that are in the tables before: with empty ones the planner chooses otherwise. */
const EARLIER = { rounds: 20, jobs: 100 };
/** Rounds of a measurement, and of a short one. */
export const ROUNDS = { usual: 50, few: 5 };
/**
 * Milliseconds on the clock of the database that a step takes.
 * A round takes some of them, so most rounds write no wake-up.
 */
const STEP_MS = 5;

/** A course that jobs take, from publish to their end. */
interface Course {
  name: string;
  jobs: number;
  columns?: QueueColumns;
  /** Whether the publish claims the jobs. */
  claimsNew?: boolean;
  /** The events of a job, one after the other. A report needs no claim. */
  events: { name: string; event: JobEvent; needsClaim: boolean }[];
  /** Milliseconds before the next event. */
  pauseMs?: number;
}

const first = (event: JobEvent) => ({ name: 'settle', event, needsClaim: true });
const atOnce = (event: JobEvent) => ({ name: 'settle', event, needsClaim: false });

export const COURSES: readonly [Course, ...Course[]] = [
  { name: 'delivered, 8 jobs a round', jobs: 8, events: [first(DELIVERED)] },
  { name: 'delivered, 1 job a round', jobs: 1, events: [first(DELIVERED)] },
  { name: 'claimed by the publish, 8 jobs a round', jobs: 8, claimsNew: true, events: [atOnce(DELIVERED)] },
  { name: 'claimed by the publish, 1 job a round', jobs: 1, claimsNew: true, events: [atOnce(DELIVERED)] },
  {
    name: 'failed once and delivered, 8 jobs a round',
    jobs: 8,
    columns: { backoff_delay: 1 },
    events: [first(FAILED), { name: 'second settle', event: DELIVERED, needsClaim: true }],
    pauseMs: 1500,
  },
  {
    name: 'ack mode, 8 jobs a round',
    jobs: 8,
    columns: { mode: 'ack' },
    events: [first(DELIVERED), { name: 'report', event: { type: 'acked' }, needsClaim: false }],
  },
];

export type Rounds = Awaited<ReturnType<typeof openRounds>>;

/**
 * Rounds of publish, claim and settle in one session of a database of their own,
 * whose clock stands still within a step.
 */
export async function openRounds(url: string) {
  const fixture = await openFixture(url);
  // By chance some of hundreds do, which no two measurements share.
  await moveBookmarksIf(fixture.db, 'false');
  await changeFunction(fixture.db, 'jobferry_count_attempt', 'random() < 0.005', 'false');
  const counters = await openCounters(url);
  const clock = new Clock(fixture.db);
  const [simplest] = COURSES;
  const earlier = await fixture.createQueue();
  for (let n = 0; n < EARLIER.rounds; n += 1) await runRound({ ...simplest, jobs: EARLIER.jobs }, earlier, null);
  await fixture.db.query('analyze');

  return {
    db: fixture.db,
    async measure(course: Course, rounds: number): Promise<Group> {
      const queue = await fixture.createQueue(course.columns);
      const tally = new Tally(counters);
      const round = (noting: Tally | null) => runRound(course, queue, noting);
      for (let n = 0; n < WARM_UP; n += 1) await round(null);
      await tally.begin(fixture.db);
      for (let n = 0; n < rounds; n += 1) await round(tally);
      return tally.end(fixture.db, rounds, course.jobs);
    },
  };

  /** @returns the jobs that the publish has claimed */
  async function publishTo(queue: TestQueue, jobs: number, claimsNew: boolean): Promise<ClaimedJob[]> {
    const item = {
      accountId: fixture.accountId,
      queue: queue.name,
      payload: PAYLOAD,
      key: null,
      delayMs: 0,
      limit: null,
    };
    const items = Array.from({ length: jobs }, () => ({ ...item, claimable: claimsNew || undefined }));
    const asked = { workerId: 1, leaseMs: LEASE_MS, queues: [{ queueId: queue.id, jobs, since: null }] };
    const { claim } = await publishAndClaim(fixture.db, items, PERIODS, claimsNew ? asked : null);
    return (claim?.rows ?? []).flatMap((row) => readable(fixture.db, row));
  }

  async function runRound(course: Course, queue: TestQueue, tally: Tally | null): Promise<void> {
    const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      await clock.forward(STEP_MS);
      return tally === null ? work() : tally.note(name, work);
    };
    let jobs = await step('publish', () => publishTo(queue, course.jobs, course.claimsNew === true));
    for (const [n, { name, event, needsClaim }] of course.events.entries()) {
      if (n > 0) await clock.forward(course.pauseMs ?? 0);
      if (needsClaim) jobs = (await step(n === 0 ? 'claim' : 'second claim', () => fixture.claim(queue))).jobs;
      if (event.type === 'acked') {
        const asked = jobs.map(({ id }) => ({ id, accountId: fixture.accountId, attempt: undefined }));
        const results = await step(name, () => ackJobs(fixture.db, asked));
        if (results.includes('unusual')) throw new Error(`${name}: not all acks were ordinary`);
        continue;
      }
      const settlements = jobs.map((job) => settlementOf(job, event, clock.now));
      const applied = await step(name, () => settle(fixture.db, settlements));
      if (applied.size !== course.jobs)
        throw new Error(`${name}: ${applied.size} of ${course.jobs} settlements applied`);
    }
  }
}

/** The clock of the database: it stands still in between, so a slow machine writes no more wake-ups than a fast one. */
class Clock {
  now = Date.UTC(2026, 0, 5);
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async forward(ms: number): Promise<void> {
    this.now += ms;
    await this.#db.query("select set_config('weight.now', to_timestamp($1::float8 / 1000)::text, false)", [this.now]);
  }
}

/** Adds up what the steps of rounds have cost. */
class Tally {
  readonly #counters: Counters;
  readonly #steps = new Map<string, { calls: number; nested: number; plans: number }>();
  #rows: Awaited<ReturnType<Counters['rows']>> = new Map();
  #logFrom = '';

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  async begin(db: Database): Promise<void> {
    await db.query('select pg_stat_force_next_flush()');
    this.#rows = await this.#counters.rows();
    this.#logFrom = await this.#counters.logEnd();
  }

  async note<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = await this.#counters.statements();
    const result = await work();
    const after = await this.#counters.statements();
    const sum = this.#steps.get(name) ?? { calls: 0, nested: 0, plans: 0 };
    sum.calls += after.calls - before.calls;
    sum.nested += after.nested - before.nested;
    sum.plans += after.plans - before.plans;
    this.#steps.set(name, sum);
    return result;
  }

  async end(db: Database, rounds: number, jobs: number): Promise<Group> {
    const logTo = await this.#counters.logEnd();
    await db.query('select pg_stat_force_next_flush()');
    const group: Group = {};
    for (const [name, { calls, nested, plans }] of this.#steps) {
      group[`statements, ${name}`] = figure(calls / rounds, 'per round');
      group[`statements within functions, ${name}`] = figure(nested / rounds, 'per round');
      group[`plans, ${name}`] = figure(plans / rounds, 'per round');
    }
    const logged = await this.#counters.logged(this.#logFrom, logTo);
    const perJob = (value: number, within?: number) => figure(value / rounds / jobs, 'per job', within);
    for (const [table, now] of [...(await this.#counters.rows())].sort()) {
      const before = this.#rows.get(table) ?? { inserted: 0, updated: 0, hot: 0, deleted: 0 };
      for (const kind of ['inserted', 'updated', 'hot', 'deleted'] as const) {
        if (now[kind] !== before[kind])
          group[`rows ${kind === 'hot' ? 'updated in place' : kind}, ${table}`] = perJob(now[kind] - before[kind]);
      }
    }
    for (const [index, entries] of [...logged.entries].sort()) group[`entries, ${index}`] = perJob(entries);
    group['log records'] = perJob(logged.records, 0.01);
    group['log bytes'] = perJob(logged.bytes, 0.01);
    return group;
  }
}

/** Measures all courses. */
export async function weighStatements(rounds: Rounds): Promise<Figures> {
  const figures: Figures = {};
  for (const course of COURSES) figures[groupOf(course)] = await rounds.measure(course, ROUNDS.usual);
  return figures;
}

export function groupOf(course: Course): string {
  return `SQL: ${course.name}`;
}
