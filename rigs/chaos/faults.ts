import { setTimeout as wait } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';
import type { FaultKind, FaultRecord } from './records.ts';
import type { Rig } from './rig.ts';
import type { ChaosServer } from './server.ts';
import type { Slot } from './supervisor.ts';

/** One fault, from its start until the part that it broke works again. */
export type Fault = (rig: Rig) => Promise<void>;

/** A fault waits for a busy process, but strikes an idle one after this time. */
const BUSY_WITHIN_MS = 3000;

/** A server without a standby. */
function alone({ server }: Rig): ChaosServer {
  if (!('crash' in server)) throw new Error('this server has a standby');
  return server;
}

export function note(rig: Rig, kind: FaultKind, fields: Partial<FaultRecord> = {}): FaultRecord {
  const record = { kind, pid: 0, at: Date.now(), healedAt: null, interrupted: [], underWay: 0, ...fields };
  rig.faults.push(record);
  return record;
}

/** Slots that a fault uses at the moment: two faults must not use the same process. */
const struck = new WeakSet<Slot>();

export async function withSlot(slots: Slot[], rig: Rig, work: (slot: Slot) => Promise<void>): Promise<void> {
  const free = () => slots.filter((slot) => slot.process !== null && !struck.has(slot));
  // Taken where it is found: two faults that wait for the same process are told in the same moment.
  const take = () => {
    const found = free();
    if (found.length === 0) return null;
    const slot = rig.random.pick(found);
    struck.add(slot);
    return slot;
  };
  const slot = await waitFor(take, { timeoutMs: 60_000, message: 'a process to strike' });
  try {
    await work(slot);
  } finally {
    struck.delete(slot);
  }
}

/**
 * Waits until the worker has jobs in flight, and then a random moment more: the fault may hit any point of a delivery.
 */
export async function untilBusy(rig: Rig, { workerId }: Slot): Promise<void> {
  const claims = () => rig.readings.claimsOf(workerId ?? -1).catch(() => []);
  const busy = waitFor(async () => (await claims()).length > 0, { timeoutMs: BUSY_WITHIN_MS, everyMs: 5 });
  await busy.catch(() => undefined);
  await wait(rig.random.between(0, 30));
}

export async function claimsOf(rig: Rig, slot: Slot): Promise<string[]> {
  return slot.workerId === null ? [] : rig.readings.claimsOf(slot.workerId).catch(() => []);
}

/** F-1 and F-2: any moment of a delivery, since claiming and settling are part of it. */
export const killWorker: Fault = (rig) =>
  withSlot(rig.workers, rig, async (slot) => {
    await untilBusy(rig, slot);
    const { workerId } = slot;
    const record = note(rig, 'kill-worker', { pid: slot.process?.pid ?? 0, workerId });
    await slot.end('SIGKILL');
    record.interrupted = workerId === null ? [] : await rig.readings.claimsOf(workerId).catch(() => []);
    record.underWay = record.interrupted.length;
    await slot.ready();
    record.healedAt = Date.now();
  });

/** F-3 and F-4: while it has publishes to answer, and replays of dead letters where there are any. */
export const killApi: Fault = (rig) =>
  withSlot(rig.apis, rig, async (slot) => {
    const baseUrl = slot.process?.baseUrl;
    if (baseUrl === undefined) return;
    const queue = rig.queues.find(({ name }) => name === 'plain');
    if (queue === undefined) return;
    const replay = await rig.load.prepareReplays(baseUrl);
    const calls = [replay(), ...Array.from({ length: 8 }, () => rig.load.publish(queue, { baseUrl }))];
    await wait(rig.random.between(0, 8));
    const record = note(rig, 'kill-api', { pid: slot.process?.pid ?? 0, underWay: rig.client.underWay(baseUrl) });
    await slot.end('SIGKILL');
    await Promise.all(calls);
    await slot.ready();
    record.healedAt = Date.now();
  });

/** F-19: longer than its lease, so that others take its jobs; then it wakes up and finds out. */
export const freezeWorker: Fault = (rig) =>
  withSlot(rig.workers, rig, async (slot) => {
    await untilBusy(rig, slot);
    const frozen = slot.process;
    if (frozen === null) return;
    const record = note(rig, 'freeze-worker', {
      pid: frozen.pid,
      baseUrl: frozen.baseUrl,
      workerId: slot.workerId,
    });
    process.kill(frozen.pid, 'SIGSTOP');
    try {
      record.interrupted = await claimsOf(rig, slot);
      record.underWay = record.interrupted.length;
      await wait(rig.leaseMs + rig.random.between(500, 2000));
    } finally {
      process.kill(frozen.pid, 'SIGCONT');
      record.healedAt = Date.now();
    }
  });

/** F-23: gets SIGTERM while it delivers, and finishes the deliveries that it has in flight. */
export const stopWorker: Fault = (rig) =>
  withSlot(rig.workers, rig, async (slot) => {
    await untilBusy(rig, slot);
    const record = note(rig, 'term-worker', {
      pid: slot.process?.pid ?? 0,
      workerId: slot.workerId,
      underWay: (await claimsOf(rig, slot)).length,
    });
    await slot.end('SIGTERM');
    await slot.ready();
    record.healedAt = Date.now();
  });

/** Number of deliveries and calls without an answer so far. */
export function underWay(rig: Rig): number {
  return rig.client.underWayAll() + rig.receiver.deliveries.slice(-500).filter(({ end }) => end === 'open').length;
}

/** Resolves when a publish was accepted and a delivery has arrived since then. */
export async function untilWorking(rig: Rig, since: number): Promise<void> {
  const accepted = () =>
    rig.load.publishes.slice(-300).some(({ invokedAt, outcome }) => outcome === 'ok' && invokedAt > since);
  const delivered = () => (rig.receiver.deliveries.at(-1)?.at ?? 0) > since;
  await waitFor(() => accepted() && delivered(), { timeoutMs: 60_000, message: 'work to go on' });
}

/** Resolves when there is work again that the next fault can hit. */
export async function untilBusyAgain(rig: Rig): Promise<void> {
  const target = rig.receiver.deliveries.length + 30;
  const isBusy = () => rig.receiver.deliveries.length >= target && underWay(rig) > 0;
  await waitFor(isBusy, { timeoutMs: 60_000, everyMs: 5, message: '30 more deliveries' });
  await wait(rig.random.between(0, 300));
}

/** F-5: the postmaster is killed, and its children with it. */
export const crashPostgres: Fault = async (rig) => {
  const record = note(rig, 'crash-postgres', { underWay: underWay(rig) });
  record.pid = await alone(rig).crash();
  await rig.server.back();
  await untilWorking(rig, Date.now());
  record.healedAt = Date.now();
  await untilBusyAgain(rig);
};

/** F-6: stopped in good order and started again. */
export const restartPostgres: Fault = async (rig) => {
  const record = note(rig, 'restart-postgres', { underWay: underWay(rig) });
  record.pid = await alone(rig).restart();
  await rig.server.back();
  await untilWorking(rig, Date.now());
  record.healedAt = Date.now();
  await untilBusyAgain(rig);
};

/** F-6: the network between the database and some of the processes is gone for a while. */
export const cutConnections: Fault = async (rig) => {
  const record = note(rig, 'cut-connections', { underWay: underWay(rig) });
  await rig.relay.cut();
  await wait(rig.random.between(50, 6000));
  await rig.relay.heal();
  record.healedAt = Date.now();
  await untilBusyAgain(rig);
};

/** F-10: packets are dropped, and neither end gets an error. */
export const stallConnections: Fault = async (rig) => {
  const record = note(rig, 'stall-connections', { underWay: underWay(rig) });
  rig.relay.stall();
  await wait(rig.random.between(500, 8000));
  await rig.relay.heal();
  record.healedAt = Date.now();
  await untilBusyAgain(rig);
};

const TERMINATE_HALF = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name like 'jobferry%' and datname = current_database() and random() < 0.5`;

/** F-7: some of the connections end, in any state. */
export const terminateBackends: Fault = async (rig) => {
  const record = note(rig, 'terminate-backends', { underWay: underWay(rig) });
  await rig.readings.query(TERMINATE_HALF).catch(() => undefined);
  record.healedAt = Date.now();
};

/**
 * F-8: the server accepts no new connection, and closes half of the open ones. The fault may last long enough that
 * other workers declare a worker dead that still has connections.
 */
export const exhaustConnections: Fault = async (rig) => {
  const record = note(rig, 'exhaust-connections', { underWay: underWay(rig) });
  const free = await rig.readings.takeConnections();
  await rig.readings.query(TERMINATE_HALF).catch(() => undefined);
  const freed = await rig.readings.takeConnections();
  await wait(rig.random.between(500, 8000));
  await Promise.all([free(), freed()]);
  record.healedAt = Date.now();
  await untilBusyAgain(rig);
};

/** F-8: every statement waits, for longer than it may. */
export const lockTable: Fault = async (rig) => {
  const record = note(rig, 'lock-table', { underWay: underWay(rig) });
  const seconds = rig.random.between(1, 8);
  const lock = `do $$ begin lock table job in access exclusive mode; perform pg_sleep(${seconds}); end $$`;
  await rig.readings.query(lock).catch(() => undefined);
  record.healedAt = Date.now();
  await untilBusyAgain(rig);
};

/** I-36: wake-ups are hints, so losing them all costs time and nothing else. */
export const loseWakeUps: Fault = async (rig) => {
  const record = note(rig, 'lose-wake-ups', { underWay: underWay(rig) });
  await rig.readings.query('delete from graphile_worker._private_jobs').catch(() => undefined);
  record.healedAt = Date.now();
};

/** The short ones more often: while the database is away, other faults have no effect. */
const SOUP: Fault[] = [
  ...[killWorker, killWorker, killWorker, killApi, killApi, killApi, freezeWorker, freezeWorker, stopWorker],
  ...[crashPostgres, restartPostgres, cutConnections, stallConnections, terminateBackends],
  ...[exhaustConnections, lockTable, loseWakeUps],
];

/** Runs the fault `times` times, `atOnce` of them at a time, but starts none after `until`. */
export async function strike(
  rig: Rig,
  fault: Fault,
  { times, atOnce, until = Number.POSITIVE_INFINITY }: { times: number; atOnce: number; until?: number },
): Promise<void> {
  let left = times;
  const hand = async () => {
    while (left > 0 && Date.now() < until) {
      left -= 1;
      await fault(rig);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, hand));
}

/** F-30: random faults at random times, for `ms`. */
export async function soup(rig: Rig, { ms, hands }: { ms: number; hands: number }): Promise<void> {
  const until = Date.now() + ms;
  // A part that exists only once can be broken by one fault at a time.
  const shared = new Set([
    crashPostgres,
    restartPostgres,
    cutConnections,
    stallConnections,
    exhaustConnections,
    lockTable,
  ]);
  let isBroken = false;
  const hand = async () => {
    while (Date.now() < until) {
      const fault = rig.random.pick(SOUP);
      if (shared.has(fault)) {
        if (isBroken) continue;
        isBroken = true;
        await fault(rig);
        isBroken = false;
      } else await fault(rig);
      await wait(rig.random.between(0, 1500));
    }
  };
  await Promise.all(Array.from({ length: hands }, hand));
}
