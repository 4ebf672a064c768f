import { setTimeout as wait } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';
import { claimsOf, type Fault, note, untilBusyAgain, untilWorking } from './faults.ts';

/** A heartbeat counts for 30 s, and the others look for it every 5 s. */
const ENCRYPTED_WITHIN_MS = 120_000;
/** Time beside the worker without the key: three leases, for each of which it could keep a slot. */
const OBSERVED_MS = 20_000;
/** How late a job of a queue without limits may be then: less than a lease. */
const LATE_MS = 5000;

/**
 * F-52: the last worker has no key. While it is frozen its heartbeat ends, so the others encrypt the signing secrets.
 * Then it goes on beside them: it can deliver nothing, and must not take the slots of those that can.
 */
export const thawKeylessWorker: Fault = async (rig) => {
  const slot = rig.workers.at(-1);
  const frozen = slot?.process ?? null;
  if (slot === undefined || frozen === null) throw new Error('the worker without a key does not run');
  const { workerId } = slot;
  const record = note(rig, 'freeze-worker', { pid: frozen.pid, baseUrl: frozen.baseUrl, workerId });
  process.kill(frozen.pid, 'SIGSTOP');
  try {
    record.interrupted = await claimsOf(rig, slot);
    record.underWay = record.interrupted.length;
    const plain = `select from queue where not starts_with(signing_secret, 'enc:') limit 1`;
    const isEncrypted = async () => (await rig.readings.query(plain)).length === 0;
    await waitFor(isEncrypted, { timeoutMs: ENCRYPTED_WITHIN_MS, everyMs: 500, message: 'encrypted signing secrets' });
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
    record.healedAt = Date.now();
  }
  await wait(OBSERVED_MS);
  const late = `select coalesce(max(extract(epoch from jobferry_now() - scheduled_for)), 0)::float8 as seconds
    from job where status = 'pending' and queue_id = any ($1)`;
  const unlimited = rig.queues.filter((queue) => queue.unlimited).map(({ id }) => id);
  const [{ seconds } = { seconds: 0 }] = await rig.readings.query<{ seconds: number }>(late, [unlimited]);
  if (seconds * 1000 > LATE_MS) throw new Error(`beside a worker without the key a job is ${seconds} s late`);
  await untilWorking(rig, Date.now());
  await untilBusyAgain(rig);
};
