import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedJob } from '../../src/db/delivery/claim.ts';
import { settle } from '../../src/db/delivery/settle.ts';
import { queuesWithWork } from '../../src/db/delivery/wake-ups.ts';
import { RENEW_BREAKER, setBreaker } from '../../src/db/queues/breaker.ts';
import { endHold, finishSecretRotation, rotateSigningSecret, switchQueue } from '../../src/db/queues/operations.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import type { BreakerSettings } from '../../src/domain/breaker.ts';
import type { JobEvent } from '../../src/domain/transition.ts';
import {
  DELIVERED,
  FAILED,
  type Fixture,
  openFixture,
  settlementOf,
  takeOverClock,
} from '../support/database-fixture.ts';

/** The breaker in SQL, step by step. The simulation compares it with a model, and checks it under faults. */

const START = Date.UTC(2026, 10, 21, 12);
const SECOND = 1000;
const backpressure = (statusCode: number, retryAfterMs: number): JobEvent => ({
  type: 'answered',
  outcome: { kind: 'backpressure', statusCode, retryAfterMs },
});
const unavailableFor = (ms: number) => backpressure(503, ms);
const UNAVAILABLE = unavailableFor(40_000);
/** The receiver is alive, and asks for a hold. */
const BUSY = backpressure(429, 40_000);

let fixture: Fixture;
let setClock: (ms: number) => Promise<void>;
let queue: { id: string };
let now = START;

beforeAll(async () => {
  fixture = await openFixture();
  setClock = await takeOverClock(fixture.db, START);
});

beforeEach(async () => {
  queue = await fixture.createQueue({ concurrency: 20, max_attempts: 2, backoff_delay: 0 });
});

async function after(ms: number): Promise<void> {
  now += ms;
  await setClock(now);
}

const by = () => ({ accountId: fixture.accountId, actor: OPERATOR });
const set = (breaker: BreakerSettings | null) => setBreaker(fixture.db, by(), queue.id, breaker);

async function claimed(): Promise<ClaimedJob[]> {
  const { jobs } = await fixture.claim(queue as never);
  for (const job of jobs) job.rules.hasBreaker = true;
  return jobs;
}

async function answer(jobs: readonly ClaimedJob[], event: JobEvent): Promise<void> {
  await settle(
    fixture.db,
    jobs.map((job) => settlementOf(job, event, now)),
  );
}

interface State {
  failed: number;
  opened: number | null;
  until: number | null;
  hold: number | null;
  probes: number;
  probe: string | null;
}

/** Times are seconds from now. */
async function state(): Promise<State> {
  const at = (column: string) => `(extract(epoch from ${column} - jobferry_now()))::float8`;
  const row = await fixture.db.one<State & Record<string, unknown>>(
    `select breaker_failed as failed, ${at('breaker_opened_at')} as opened, ${at('breaker_until')} as until,
            ${at('hold_until')} as hold, breaker_probes as probes, probe_job_id as probe from queue where id = $1`,
    [queue.id],
  );
  if (row === null) throw new Error('no queue');
  return row;
}

const actions = async () =>
  (
    await fixture.db.query<{ action: string; actor_label: string }>(
      `select action, actor_label from audit_entry where target_id = $1 and action like 'queue.%breaker' order by id`,
      [queue.id],
    )
  ).map(({ action, actor_label: label }) => `${label} ${action}`);

/** Opens the breaker with three failures. */
async function open(): Promise<void> {
  await set({ failures: 3, seconds: null });
  await fixture.publishJobs(queue as never, 6);
  await answer((await claimed()).slice(0, 3), FAILED);
}

describe('a closed breaker', () => {
  it('opens at the last of so many failed answers in a row, over any number of statements', async () => {
    await set({ failures: 3, seconds: null });
    await fixture.publishJobs(queue as never, 6);
    const jobs = await claimed();
    await answer(jobs.slice(0, 2), FAILED);
    await answer(jobs.slice(2, 3), DELIVERED);
    await answer(jobs.slice(3, 5), FAILED);
    expect(await state()).toMatchObject({ failed: 2, opened: null, hold: null });
    await answer(jobs.slice(5), FAILED);
    expect(await state()).toEqual({ failed: 3, opened: 0, until: 10, hold: 10, probes: 0, probe: null });
    expect(await claimed()).toEqual([]);
    expect(await actions()).toEqual(['operator queue.set_breaker', 'Jobferry queue.open_breaker']);
  });

  it('opens by time, when all answers of so long a time have failed and there were at least two', async () => {
    await set({ failures: null, seconds: 60 });
    await fixture.publishJobs(queue as never, 3);
    const jobs = await claimed();
    await answer(jobs.slice(0, 1), FAILED);
    await after(59 * SECOND);
    await answer(jobs.slice(1, 2), UNAVAILABLE);
    expect(await state()).toMatchObject({ failed: 2, opened: null });
    await after(SECOND);
    await answer(jobs.slice(2), FAILED);
    expect(await state()).toMatchObject({ failed: 3, opened: 0, hold: 10 });
  });

  it('is not opened by failures that are settled together with a success', async () => {
    await set({ failures: 3, seconds: null });
    await fixture.publishJobs(queue as never, 8);
    const jobs = await claimed();
    const settlements = [
      ...jobs.slice(0, 7).map((job) => [job, FAILED] as const),
      [jobs[7] as ClaimedJob, DELIVERED] as const,
    ];
    await settle(
      fixture.db,
      settlements.map(([job, event]) => settlementOf(job, event, now)),
    );
    expect(await state()).toMatchObject({ failed: 0, opened: null, hold: null });
    expect(await actions()).toEqual(['operator queue.set_breaker']);
  });

  it('is told of successes by the short way of settles, too', async () => {
    await set({ failures: 3, seconds: null });
    await fixture.publishJobs(queue as never, 4);
    const jobs = await claimed();
    await answer(jobs.slice(0, 2), FAILED);
    await answer(jobs.slice(2), DELIVERED);
    expect(await state()).toMatchObject({ failed: 0, opened: null });
    const done = await fixture.db.query(`select id from job where queue_id = $1 and status = 'completed'`, [queue.id]);
    expect(done).toHaveLength(2);
  });

  it('counts from 0 when the webhook is changed', async () => {
    await set({ failures: 3, seconds: null });
    await fixture.publishJobs(queue as never, 4);
    const jobs = await claimed();
    await answer(jobs.slice(0, 2), FAILED);
    await fixture.db.query(RENEW_BREAKER, [queue.id]);
    await answer(jobs.slice(2), FAILED);
    expect(await state()).toMatchObject({ failed: 2, opened: null, hold: null });
  });

  it('is never opened if the queue has none', async () => {
    await fixture.publishJobs(queue as never, 3);
    await answer(await claimed(), FAILED);
    expect(await state()).toMatchObject({ failed: 0, opened: null, hold: null });
  });
});

describe('an open breaker', () => {
  it('lets one job go at growing intervals, which costs no attempt', async () => {
    await open();
    for (const [probes, pause] of [10, 20, 40, 80, 160, 300, 300].entries()) {
      expect(await state()).toMatchObject({ hold: pause, probes });
      await after(pause * SECOND - 1);
      expect(await claimed()).toEqual([]);
      await after(1);
      const jobs = await claimed();
      expect(jobs).toHaveLength(1);
      expect(await claimed()).toEqual([]);
      await answer(jobs, FAILED);
    }
    const dead = await fixture.db.query(`select id from job where queue_id = $1 and status = 'dead'`, [queue.id]);
    expect(dead).toEqual([]);
  });

  it('waits for as long as its receiver asks for', async () => {
    await open();
    await after(10 * SECOND);
    await answer(await claimed(), UNAVAILABLE);
    expect(await state()).toMatchObject({ until: 40, hold: 40, probes: 1 });
  });

  it('probes after five minutes, though what answers 503 for its receiver asks for hours', async () => {
    await open();
    await after(10 * SECOND);
    await answer(await claimed(), unavailableFor(2 * 3600 * SECOND));
    expect(await state()).toMatchObject({ until: 300, hold: 300, probes: 1 });
    await after(300 * SECOND);
    // Longer than a job lives: nothing dies of a probe.
    await answer(await claimed(), unavailableFor(100 * 3600 * SECOND));
    expect(await state()).toMatchObject({ until: 60, hold: 60, probes: 2 });
    const dead = await fixture.db.query(`select id from job where queue_id = $1 and status = 'dead'`, [queue.id]);
    expect(dead).toEqual([]);
  });

  it('closes at a success of the probe, or of what was in flight, and counts from 0 again', async () => {
    await open();
    await after(10 * SECOND);
    const [probe] = await claimed();
    await answer([probe as ClaimedJob], DELIVERED);
    expect(await state()).toMatchObject({ failed: 0, opened: null, hold: null, probe: null });
    expect((await claimed()).length).toBeGreaterThan(1);
    expect((await actions()).at(-1)).toBe('Jobferry queue.close_breaker');
  });

  it('asks less often of a receiver that works for a moment only', async () => {
    await open();
    await after(10 * SECOND);
    await answer(await claimed(), FAILED);
    await after(20 * SECOND);
    await answer(await claimed(), DELIVERED);
    await fixture.publishJobs(queue as never, 3);
    await answer(await claimed(), FAILED);
    expect(await state()).toMatchObject({ opened: 0, probes: 2, hold: 40 });
  });

  it('goes on when its probe is lost with its worker', async () => {
    await open();
    await after(10 * SECOND);
    await answer(await claimed(), { type: 'interrupted' });
    expect(await state()).toMatchObject({ opened: -10, probe: null });
    expect(await claimed()).toHaveLength(1);
  });

  it('probes at once when it is changed or a person ends the hold, and ends when it is switched off', async () => {
    await open();
    expect(await set({ failures: 5, seconds: 5 })).toBe(true);
    expect(await state()).toMatchObject({ failed: 3, opened: 0, until: 0, hold: 0 });
    const [probe] = await claimed();
    expect(await set({ failures: 5, seconds: 6 })).toBe(true);
    expect(await state()).toMatchObject({ opened: 0, hold: 0, probe: probe?.id });
    // A probe in flight is awaited: it tests the same receiver.
    expect(await endHold(fixture.db, by(), queue.id)).toBe(false);
    expect(await state()).toMatchObject({ opened: 0, hold: 0, probe: probe?.id });
    expect(await claimed()).toEqual([]);
    await answer([probe as never], FAILED);
    expect(await state()).toMatchObject({ opened: 0, probes: 1, hold: 20 });
    expect(await endHold(fixture.db, by(), queue.id)).toBe(true);
    expect(await state()).toMatchObject({ opened: 0, probes: 1, until: 0, hold: 0 });
    expect(await claimed()).toHaveLength(1);
    expect([await set(null), await set(null)]).toEqual([true, false]);
    expect(await state()).toMatchObject({ failed: 0, opened: null, hold: null });
    expect((await claimed()).length).toBeGreaterThan(1);
  });

  const renew = () => fixture.db.query(RENEW_BREAKER, [queue.id]);
  const rotate = (overlapMs: number) =>
    rotateSigningSecret(fixture.db, by(), queue.id, { secret: 'another', overlapMs });
  const standard = (isOn: boolean) => switchQueue(fixture.db, by(), queue.id, 'standardWebhooks', isOn);

  it.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    ['its webhook is changed', renew, renew],
    ['its secret is replaced', () => rotate(0), () => rotate(0)],
    ['its secret is rotated', () => rotate(5000), () => finishSecretRotation(fixture.db, by(), queue.id)],
    ['the headers of its deliveries change', () => standard(true), () => standard(false)],
  ])('probes at once, beside a probe in flight, and from the beginning, when %s', async (_what, change, again) => {
    await open();
    for (const pause of [10, 20]) {
      await after(pause * SECOND);
      await answer(await claimed(), FAILED);
    }
    expect(await state()).toMatchObject({ hold: 40, probes: 2 });
    await after(10 * SECOND);
    await change();
    expect(await state()).toMatchObject({ failed: 5, opened: -40, until: 0, hold: 0, probes: 0 });
    const former = await claimed();
    expect([former.length, await claimed()]).toEqual([1, []]);
    await again();
    const probe = await claimed();
    expect(probe).toHaveLength(1);
    await answer(former, FAILED);
    expect(await state()).toMatchObject({ hold: 0, probe: probe[0]?.id });
    await answer(probe, FAILED);
    expect(await state()).toMatchObject({ hold: 20, probes: 1 });
  });

  it('keeps a longer hold that its receiver asked for when the webhook is changed', async () => {
    await open();
    await after(10 * SECOND);
    await answer(await claimed(), BUSY);
    await renew();
    expect(await state()).toMatchObject({ opened: -10, hold: 40, probes: 0 });
  });

  it.each<[string, () => Promise<unknown>, object]>([
    ['its webhook is changed', renew, { opened: -50, hold: 0, probe: null }],
    ['it is switched off', () => set(null), { opened: null, hold: null, probe: null }],
  ])('does not await the probe after such a hold when %s', async (_what, change, expected) => {
    await open();
    await after(10 * SECOND);
    await answer(await claimed(), BUSY);
    await after(40 * SECOND);
    const [probe] = await claimed();
    expect(await state()).toMatchObject({ hold: 0, probe: probe?.id });
    await change();
    expect(await state()).toMatchObject(expected);
    expect((await claimed()).length).toBeGreaterThan(0);
  });

  it('makes its waiting jobs due when a person ends the hold, also after the time of the probe', async () => {
    await fixture.db.query('update queue set backoff_delay = 600 where id = $1', [queue.id]);
    await set({ failures: 2, seconds: null });
    await fixture.publishJobs(queue as never, 2);
    await answer(await claimed(), FAILED);
    await fixture.db.query(`update job set scheduled_for = jobferry_now() where queue_id = $1`, [queue.id]);
    await after(10 * SECOND);
    const [probe] = await claimed();
    await answer([probe as never], FAILED);
    await fixture.db.query(`delete from job where queue_id = $1 and id <> $2`, [queue.id, probe?.id]);
    await after(20 * SECOND);
    expect(await claimed()).toEqual([]);
    expect([await endHold(fixture.db, by(), queue.id), (await claimed()).length]).toEqual([true, 1]);
    expect(await endHold(fixture.db, by(), queue.id)).toBe(false);
  });

  it('closes at the receipt of its probe in ack mode, and the reconciler sees the jobs behind it', async () => {
    await fixture.db.query(`update queue set mode = 'ack' where id = $1`, [queue.id]);
    await open();
    await after(10 * SECOND);
    const [probe] = await claimed();
    await answer([probe as ClaimedJob], DELIVERED);
    expect(await state()).toMatchObject({ opened: null, hold: null, probe: null });
    expect((await queuesWithWork(fixture.db, [queue.id])).due).toEqual([queue.id]);
  });

  it('leaves the hold that a receiver asked for when it is switched off', async () => {
    await open();
    await after(10 * SECOND);
    await answer(await claimed(), BUSY);
    await set(null);
    expect(await state()).toMatchObject({ opened: null, hold: 40 });
  });
});
