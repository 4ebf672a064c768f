import { expect, it, onTestFinished, vi } from 'vitest';
import { Cipher } from '../../src/db/connection/cipher.ts';
import { Database } from '../../src/db/connection/database.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { sweepSchedule } from '../../src/worker/wake-ups/cron.ts';
import { WakeUpRunner } from '../../src/worker/wake-ups/runner.ts';
import { createTestDatabase } from '../support/database.ts';
import { patient } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

const nothing = async () => undefined;
const NO_TASKS = { deliver: nothing, timeout: nothing, retention: nothing, bulk: nothing };
const MINUTE_MS = 60_000;

/** A logger that passes everything to the test, and throws where graphile-worker does not expect it. */
function logThat(fails: (message: string) => boolean) {
  const messages: string[] = [];
  const log = createLog({ level: 'fatal' });
  log.warn = ((...said: unknown[]) => {
    const message = String(said.at(-1));
    messages.push(message);
    if (fails(message)) throw new Error('the disk of the log is full');
  }) as typeof log.warn;
  return { log, messages };
}

it('graphile-worker dying by itself is noticed, and another takes over', async () => {
  const { url } = await createTestDatabase();
  // An error between a task's end and its release makes each worker of graphile-worker give up, and the
  // first takes the others with it: the runner's promise settles although no code stopped it.
  const { log, messages } = logThat((message) => message.startsWith('Failed task'));
  const trace = vi.spyOn(console, 'trace').mockReturnValue(undefined);
  const db = patient(new Database(url, { warn: () => undefined }, new Cipher([])));
  const delivered: unknown[] = [];
  const deliver = async (payload: unknown) => {
    if ((payload as { fails: boolean }).fails) throw new Error('on purpose');
    delivered.push(payload);
  };
  const runner = new WakeUpRunner(db, log, { ...NO_TASKS, deliver }, []);
  onTestFinished(async () => {
    await runner.stop();
    await db.close();
    trace.mockRestore();
  });
  const wake = (fails: boolean) =>
    db.query(`select from graphile_worker.add_job('deliver', $1, max_attempts => 1)`, [JSON.stringify({ fails })]);

  await runner.start();
  expect(runner.running).toBe(true);
  await wake(true);
  await waitFor(() => messages.some((message) => message.includes('seppuku')), { message: 'its death' });
  await waitFor(() => !runner.running, { everyMs: 1, message: 'not ready' });
  await waitFor(() => runner.running, { message: 'another runner' });
  expect(messages).toContain('the wake-up runner ended; another one is started');
  await wake(false);
  await waitFor(() => delivered.length === 1, { message: 'a wake-up that arrives' });
});

it('a queue of wake-ups that refuses every change is in the log', async () => {
  const { url } = await createTestDatabase();
  const { log, messages } = logThat(() => false);
  const db = patient(new Database(url, { warn: () => undefined }, new Cipher([])));
  const runner = new WakeUpRunner(db, log, NO_TASKS, []);
  onTestFinished(async () => {
    await runner.stop();
    await db.close();
  });
  await db.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger refuse before update on graphile_worker._private_jobs for each row execute function refuse()`);
  await runner.start();
  await db.query(`select from graphile_worker.add_job('deliver', '{}')`);
  await waitFor(() => messages.includes('a wake-up could not be taken; this will be retried'));
});

/** A runner with the schedule of the sweep, and the times of its task. */
async function createScheduled() {
  const { url } = await createTestDatabase();
  const { log, messages } = logThat(() => false);
  const db = patient(new Database(url, { warn: () => undefined }, new Cipher([])));
  const schedule = sweepSchedule(MINUTE_MS);
  const runs: unknown[] = [];
  const retention = async (payload: unknown) => {
    runs.push(payload);
  };
  const create = () => new WakeUpRunner(db, log, { ...NO_TASKS, retention }, schedule);
  onTestFinished(() => db.close());
  return { db, messages, schedule, runs, create };
}

it('the schedule runs the retention task once for all runners, and leaves no row behind', async () => {
  const { db, schedule, runs, create } = await createScheduled();
  // The runners catch up with the last whole minute, so that the test does not wait for the next one.
  for (const { options } of schedule) options.backfillPeriod = MINUTE_MS;
  await db.query(`insert into graphile_worker._private_known_crontabs (identifier, known_since)
                  values ('retention', clock_timestamp() - interval '2 minutes')`);
  const runners = [create(), create()];
  onTestFinished(async () => {
    await Promise.all(runners.map((runner) => runner.stop()));
  });
  await Promise.all(runners.map((runner) => runner.start()));
  await waitFor(() => runs.length > 0, { message: 'the task' });
  await waitFor(async () => (await db.query('select from graphile_worker.jobs')).length === 0, { message: 'no row' });
  // A test that runs over the end of a minute meets two of them.
  const minutes = runs.map((payload) => (payload as { _cron: { ts: string } })._cron.ts);
  expect(minutes).toEqual([...new Set(minutes)]);
});

it('a schedule that cannot be written is in the log, and stops neither tasks nor the runner', async () => {
  const { db, messages, runs, create } = await createScheduled();
  await db.query('alter table graphile_worker._private_known_crontabs rename to not_here');
  const runner = create();
  onTestFinished(() => runner.stop());
  await runner.start();
  const message = 'the wake-up of the retention sweep could not be written; the sweep runs without it';
  await waitFor(() => messages.includes(message), { message: 'the line' });
  await db.query(`select from graphile_worker.add_job('retention')`);
  await waitFor(() => runs.length === 1, { message: 'the task' });
  // The library would restart its cron after waits of up to a minute, and the end of the runner would wait for that.
  expect(messages.filter((line) => line.startsWith('Cron hit an error'))).toEqual([]);
});

/**
 * How many rows a schedule adds in so many minutes, each of which is processed at the time that `now` returns for it.
 */
function rowsIn(total: number, everyMs: number, now: (time: Date) => Date): number {
  let time = new Date(0);
  const [item] = sweepSchedule(everyMs, () => now(time));
  const times = Array.from({ length: total }, (_, n) => new Date(n * MINUTE_MS));
  return times.filter((each) => {
    time = each;
    return item?.match({ min: time.getUTCMinutes(), hour: time.getUTCHours(), date: 1, month: 1, dow: 1 });
  }).length;
}

it('the schedule follows the period of the sweep in whole minutes', () => {
  const inTime = [100, MINUTE_MS, 90_500, 3_600_000, 86_400_000].map((everyMs) =>
    rowsIn(1440, everyMs, (time) => time),
  );
  expect(inTime).toEqual([1440, 1440, 720, 24, 1]);
});

it('the schedule adds few rows for the minutes of a long sleep', () => {
  const days = 3;
  const end = new Date(days * 1440 * MINUTE_MS);
  expect(rowsIn(days * 1440, MINUTE_MS, () => end)).toBeLessThan(10 * days);
});
