import { expect, it, onTestFinished, vi } from 'vitest';
import { Cipher } from '../../src/db/connection/cipher.ts';
import { Database } from '../../src/db/connection/database.ts';
import { createLog } from '../../src/log.ts';
import { WakeUpRunner } from '../../src/worker/wake-ups/runner.ts';
import { createTestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

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
  const db = new Database(url, { warn: () => undefined }, new Cipher([]));
  const delivered: unknown[] = [];
  const nothing = async () => undefined;
  const deliver = async (payload: unknown) => {
    if ((payload as { fails: boolean }).fails) throw new Error('on purpose');
    delivered.push(payload);
  };
  const runner = new WakeUpRunner(db, log, { deliver, timeout: nothing, bulk: nothing, bulk2: nothing });
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
  const db = new Database(url, { warn: () => undefined }, new Cipher([]));
  const nothing = async () => undefined;
  const runner = new WakeUpRunner(db, log, { deliver: nothing, timeout: nothing, bulk: nothing, bulk2: nothing });
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
