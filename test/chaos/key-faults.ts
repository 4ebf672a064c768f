import { waitFor } from '../support/wait-for.ts';
import { claimsOf, type Fault, note, untilBusyAgain, untilWorking } from './faults.ts';

/** The log has it when a worker gives jobs back because it lacks their key. */
const LACKS = /lacks a key/;
/** A heartbeat counts for 30 s, and the others look for it every 5 s. */
const ENCRYPTED_WITHIN_MS = 120_000;

/**
 * F-52: the last worker has no key. While it is frozen its heartbeat ends, so the others encrypt the signing secrets. Then it goes on
 * beside them: it can deliver nothing, and must not take the slots of those that can.
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
  const isSaid = () => frozen.logs.some(({ msg }) => LACKS.test(msg));
  await waitFor(isSaid, { timeoutMs: 60_000, everyMs: 20, message: 'the log of the worker without the key' });
  await untilWorking(rig, Date.now());
  await untilBusyAgain(rig);
};
