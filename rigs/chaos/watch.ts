import { portsOf, type TcpRelay } from '../../test/support/tcp-relay.ts';
import type { Readings } from './readings.ts';
import type { LockSnapshot, SessionCount, Snapshot, TerminalRead } from './records.ts';

/** Readings that are taken during the whole run, except while the database is away. */
export interface Watch {
  snapshots: Snapshot[];
  finished: TerminalRead[];
  locks: LockSnapshot[];
  /** The most of each process. */
  sessions(): SessionCount[];
  stop(): Promise<void>;
}

const EVERY_MS = 200;

/** @param relays of the processes that are counted, by their names */
export function watchDatabase(readings: Readings, relays: ReadonlyMap<string, TcpRelay>): Watch {
  const snapshots: Snapshot[] = [];
  const finished: TerminalRead[] = [];
  const locks: LockSnapshot[] = [];
  const most = new Map<string, SessionCount>();
  let stopped = false;
  let rounds = 0;

  async function count(): Promise<void> {
    const ports = await readings.sessionPorts();
    for (const [process, relay] of relays) {
      const own = portsOf(relay, relays.values());
      const sessions = ports.filter((port) => own.has(port)).length;
      if (sessions > (most.get(process)?.sessions ?? 0)) most.set(process, { at: Date.now(), process, sessions });
    }
  }

  const look = async <T>(reading: Promise<T>, keep: (seen: T) => unknown) => {
    await reading.then(keep, () => undefined);
  };
  const watching = (async () => {
    for (; !stopped; rounds += 1) {
      await look(readings.locks(), (seen) => locks.push(seen));
      await look(readings.snapshot(), (seen) => snapshots.push(...seen));
      if (rounds % 5 === 0) {
        await look(readings.finished(), (seen) => finished.push(...seen));
        if (relays.size > 0) await look(count(), () => undefined);
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  })();
  return {
    snapshots,
    finished,
    locks,
    sessions: () => [...most.values()],
    async stop() {
      stopped = true;
      await watching;
    },
  };
}
