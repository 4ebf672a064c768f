import { setTimeout as wait } from 'node:timers/promises';
import { portsOf, type RelayedConnection, type TcpRelay } from '../../test/support/tcp-relay.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { claimsOf, type Fault, note, untilBusy, withSlot } from './faults.ts';
import type { Rig } from './rig.ts';
import type { Slot } from './supervisor.ts';

/**
 * F-31 to F-33: connections that die while one or both ends do not notice; F-36 and F-50: processes that
 * notice it late.
 */

/** Each long-lived connection of a process by its application name, and all of them at once. */
const CONNECTIONS = {
  'lease lock': /^jobferry lease lock$/,
  listener: /^jobferry listener$/,
  pool: /^jobferry$/,
  all: /^jobferry/,
};
type Meant = keyof typeof CONNECTIONS;
const MEANT = Object.keys(CONNECTIONS) as Meant[];

/** A fault, and what it does to a connection. */
const BREAKS = { 'server-gone': 'server', 'client-gone': 'client', 'black-hole': 'both' } as const;
export type Silence = keyof typeof BREAKS;

/**
 * Time within which a silent connection must be replaced. The process notices a lost lease lock within 2 s and replaces
 * it within another 2 s; other connections are checked by pings every 10 s with a time-out. The rest is for a busy
 * machine.
 */
const LOCK_BOUND_MS = 6000;
const OTHER_BOUND_MS = 17_000;

/** Whether the session that has the worker's lease lock is one whose connection still works. */
async function hasLiveLock(rig: Rig, { workerId }: Slot, relay: TcpRelay): Promise<boolean> {
  const ports = workerId === null ? [] : await rig.readings.lockHolders(workerId);
  return relay
    .connections()
    .some(({ serverSeesPort, broken }) => broken === null && serverSeesPort !== null && ports.includes(serverSeesPort));
}

function hasLiveListener(relay: TcpRelay): boolean {
  const isListener = ({ applicationName, broken }: RelayedConnection) =>
    broken === null && CONNECTIONS.listener.test(applicationName ?? '');
  return relay.connections().some(isListener);
}

async function strike(rig: Rig, slot: Slot, how: Silence, meant: Meant): Promise<void> {
  await untilBusy(rig, slot);
  const relay = rig.relayOf(slot);
  const isWorker = slot.role === 'worker';
  const hitsLock = isWorker && (meant === 'lease lock' || meant === 'all');
  const hitsListener = meant === 'listener' || meant === 'all';
  const claims = await claimsOf(rig, slot);
  const record = note(rig, how, {
    pid: slot.process?.pid ?? 0,
    workerId: slot.workerId,
    connections: `${meant} of ${slot.role} ${slot.workerId ?? ''}`.trim(),
    underWay: isWorker ? claims.length : rig.client.underWay(slot.process?.baseUrl ?? ''),
    boundMs: hitsListener ? OTHER_BOUND_MS : LOCK_BOUND_MS,
  });
  relay.break(CONNECTIONS[meant], BREAKS[how]);
  const isReplaced = async () =>
    (!hitsLock || (await hasLiveLock(rig, slot, relay))) && (!hitsListener || hasLiveListener(relay));
  // If it is not replaced, the checker reports it: the run goes on, to find the consequences.
  const replaced = waitFor(isReplaced, { timeoutMs: 2 * OTHER_BOUND_MS, everyMs: 50 });
  await replaced.then(
    () => (record.healedAt = Date.now()),
    // For the report of the violation: the last lines that the process logged.
    () => (record.connections += `, which says ${JSON.stringify(slot.process?.logs.slice(-3))}`),
  );
  await wait(rig.random.between(0, 500));
  // Otherwise the abandoned sessions would fill the server, fault by fault.
  relay.reap();
}

/** One process's connections, of one kind mostly: a worker's three times out of four. */
export function silenceOne(how: Silence): Fault {
  return (rig) =>
    withSlot(rig.random.next() < 0.75 ? rig.workers : rig.apis, rig, (slot) => {
      const kinds = slot.role === 'worker' ? MEANT : MEANT.filter((meant) => meant !== 'lease lock');
      return strike(rig, slot, how, rig.random.pick(kinds));
    });
}

/** The lease locks of all workers at the same time, as after a hard end of the database's host. */
export function silenceAll(how: Silence): Fault {
  return async (rig) => {
    await Promise.all(rig.workers.map((slot) => strike(rig, slot, how, 'lease lock')));
  };
}

/**
 * F-36: stopped past its lease, as when its machine is suspended, and the server has ended its connections meanwhile.
 */
export const suspendWorker: Fault = (rig) =>
  withSlot(rig.workers, rig, async (slot) => {
    await untilBusy(rig, slot);
    const suspended = slot.process;
    if (suspended === null) return;
    const record = note(rig, 'suspend-worker', {
      pid: suspended.pid,
      baseUrl: suspended.baseUrl,
      workerId: slot.workerId,
    });
    process.kill(suspended.pid, 'SIGSTOP');
    try {
      record.interrupted = await claimsOf(rig, slot);
      record.underWay = record.interrupted.length;
      await wait(rig.random.between(0, 1000));
      await rig.readings.terminate([...portsOf(rig.relayOf(slot), rig.relays)]).catch(() => undefined);
      await wait(rig.leaseMs + rig.random.between(500, 1500));
    } finally {
      process.kill(suspended.pid, 'SIGCONT');
      record.healedAt = Date.now();
    }
  });

/**
 * F-50: stopped for longer than a webhook may take, and shorter than its lease:
 * answers come meanwhile and lie in its sockets.
 */
export const stallWorker: Fault = (rig) =>
  withSlot(rig.workers, rig, async (slot) => {
    await untilBusy(rig, slot);
    const stalled = slot.process;
    if (stalled === null) return;
    const record = note(rig, 'stall-worker', {
      pid: stalled.pid,
      baseUrl: stalled.baseUrl,
      workerId: slot.workerId,
    });
    process.kill(stalled.pid, 'SIGSTOP');
    try {
      record.underWay = (await claimsOf(rig, slot)).length;
      await wait(rig.webhookTimeoutMs + rig.random.between(500, 1500));
    } finally {
      record.healedAt = Date.now();
      process.kill(stalled.pid, 'SIGCONT');
    }
  });
