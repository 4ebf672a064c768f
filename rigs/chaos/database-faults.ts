import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { addressOf } from '../../test/support/tcp-relay.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { fillWith } from './disk.ts';
import { type Fault, note, underWay, untilBusyAgain, untilWorking } from './faults.ts';
import type { DeliveryRecord, FaultRecord } from './records.ts';
import type { Rig } from './rig.ts';
import type { ServerPair } from './server-pair.ts';
import type { Slot } from './supervisor.ts';

/** F-34, F-35, F-38 to F-40, F-43, F-44 and F-54: faults of databases other than crashes. */

function pairOf({ server }: Rig): ServerPair {
  if (!('failOver' in server)) throw new Error('this server has no standby');
  return server;
}

/** F-34: the standby has the data, and none of the sessions and locks. Clients are notified all or not at all. */
export const failOver: Fault = async (rig) => {
  const pair = pairOf(rig);
  const record = note(rig, 'fail-over', { underWay: underWay(rig) });
  const how = rig.random.pick(['reset', 'server', 'both', 'client'] as const);
  record.connections = how;
  // Until the new one is there, connections lead to a server that takes no writes, or to none.
  await pair.failOver({
    keepOld: false,
    between: () => {
      for (const relay of rig.relays) relay.pointTo(NOWHERE, how);
    },
  });
  leadTo(rig, pair.url);
  const ledAt = Date.now();
  await untilWorking(rig, ledAt);
  heal(record, ledAt);
  await pair.protected();
  await untilBusyAgain(rig);
};

function leadTo(rig: Rig, url: string): void {
  rig.inside.pointTo(addressOf(url), 'reset');
  for (const relay of rig.relays) relay.pointTo(addressOf(url), 'reset');
}

const NOWHERE = { host: '127.0.0.1', port: 1 };

/**
 * I-44: after a failover, connections lead back to the former server for a while, which still takes writes.
 */
export const goBack: Fault = async (rig) => {
  const pair = pairOf(rig);
  await pair.failOver({
    keepOld: true,
    between: () => {
      for (const relay of rig.relays) relay.pointTo(NOWHERE, 'reset');
    },
  });
  const failedOver = note(rig, 'fail-over', { underWay: underWay(rig) });
  leadTo(rig, pair.url);
  // A process that has not yet connected to the new one cannot know which of both is the former one.
  await untilWorking(rig, Date.now());
  await untilBusyAgain(rig);
  failedOver.healedAt = Date.now();
  const { past } = pair;
  if (past === null) throw new Error('the former primary is gone');

  const record = note(rig, 'went-back', { underWay: underWay(rig) });
  const before = await changesIn(past.url);
  for (const relay of rig.relays) relay.pointTo(addressOf(past.url), 'reset');
  await wait(rig.random.between(2000, 4000));
  leadTo(rig, pair.url);
  for (const { at, what } of (await changesIn(past.url)).slice(before.length)) rig.pastWrites.push({ at, what });
  await untilWorking(rig, Date.now());
  record.healedAt = Date.now();
  await pair.endPast();
  await pair.protected();
};

async function changesIn(url: string): Promise<{ at: number; what: string }[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ at: number; what: string }>(
      `select (extract(epoch from at) * 1000)::float8 as at, 'a job became ' || became as what
         from chaos_change order by seq`,
    );
    return rows;
  } finally {
    await client.end();
  }
}

/** F-35: reads go on, and everything else is refused. */
export function readOnly(ms: number): Fault {
  return async (rig) => {
    const record = note(rig, 'read-only', { underWay: underWay(rig) });
    const set = async (value: string) => {
      await rig.readings.query(`alter system set default_transaction_read_only = ${value}`);
      await rig.readings.query('select pg_reload_conf()');
    };
    await set('on');
    const since = Date.now();
    while (Date.now() - since < ms) {
      await Promise.all(rig.apis.map(({ process }) => (process === null ? null : probe(rig, process.baseUrl, since))));
      await wait(250);
    }
    await set('off');
    const healed = Date.now();
    await untilWorking(rig, healed);
    heal(record, healed);
    await untilBusyAgain(rig);
  };
}

async function probe(rig: Rig, baseUrl: string, since: number): Promise<void> {
  const known = rig.load.publishes.findLast(({ id }) => id !== null)?.id;
  const read = known == null ? null : await rig.client.call('GET', `/v1/jobs/${known}`, undefined, baseUrl);
  if (read !== null) rig.probes.push({ at: read.invokedAt, kind: 'read', status: read.status, since });
  const asked = Date.now();
  const ready = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(5000) }).catch(() => null);
  rig.probes.push({ at: asked, kind: 'readiness', status: ready?.status ?? null, since });
}

/** F-38: a clock that is wrong for a while. At the end the run waits for jobs that got late due times from it. */
export function moveClock(shiftMs: number, forMs: number): Fault {
  return async (rig) => {
    const record = note(rig, 'clock', { underWay: underWay(rig), shiftMs });
    await rig.readings.shiftClock(shiftMs);
    await wait(forMs);
    await rig.readings.shiftClock(0);
    record.healedAt = Date.now();
    await wait(3000);
  };
}

/** F-39: the file system of the database's data is full. */
export function fillDisk(folder: string, ms: number): Fault {
  return async (rig) => {
    const record = note(rig, 'disk-full', { underWay: underWay(rig), boundMs: RECOVERED_MS });
    const filler = join(folder, 'filler');
    await fillWith(filler);
    const until = Date.now() + ms;
    // Space that the server frees is filled as well.
    while (Date.now() < until) {
      await wait(1000);
      await fillWith(filler);
    }
    await rm(filler, { force: true });
    const freedAt = Date.now();
    await untilWorking(rig, freedAt);
    heal(record, freedAt);
    await untilBusyAgain(rig);
  };
}

/** Once there is room again, or a standby, work goes on within this time. */
const RECOVERED_MS = 10_000;

function heal(record: FaultRecord, overAt: number): void {
  Object.assign(record, { overAt, healedAt: Date.now(), boundMs: RECOVERED_MS });
}

/** F-40: every commit waits for a standby that does not respond. */
export function hangStandby(ms: number): Fault {
  return async (rig) => {
    const pair = pairOf(rig);
    const record = note(rig, 'standby-hangs', { underWay: underWay(rig) });
    await pair.hangStandby();
    try {
      await wait(ms);
    } finally {
      await pair.resumeStandby();
    }
    const resumedAt = Date.now();
    await untilWorking(rig, resumedAt);
    heal(record, resumedAt);
    await untilBusyAgain(rig);
  };
}

/** Deliveries of other queues while one is locked. */
const OTHERS = 10;
/** More than a process has connections. */
const READERS = 40;
const TERMINATE = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name like 'jobferry%' and datname = current_database()`;

/**
 * F-43: statements hang, and callers wait for connections. The server ends all sessions, and the first statements on
 * new connections hang until the time of the callers that wait for them is over.
 */
export const stallOpening: Fault = async (rig) => {
  const record = note(rig, 'stall-opening', { underWay: underWay(rig) });
  for (const relay of rig.relays) relay.stallStatements();
  const read = ({ process }: Slot) => rig.client.call('GET', '/v1/queues', undefined, process?.baseUrl);
  const reads = rig.apis.flatMap((slot) => Array.from({ length: READERS }, () => read(slot)));
  await wait(rig.random.between(2000, 2800));
  await rig.readings.query(TERMINATE);
  await wait(rig.random.between(2600, 3300));
  await Promise.all(rig.relays.map((relay) => relay.heal()));
  const overAt = Date.now();
  await Promise.all(reads);
  await untilWorking(rig, overAt);
  heal(record, overAt);
  await untilBusyAgain(rig);
};

/** F-44: another session keeps the row of a queue until the other queues have gone on. */
export const lockQueue: Fault = async (rig) => {
  const client = new pg.Client({ connectionString: rig.server.url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`begin; select from queue where name = 'plain' for update`);
    const record = note(rig, 'foreign-lock', { underWay: underWay(rig) });
    const isOther = ({ at, raw }: DeliveryRecord) => at > record.at && !raw.includes('"queue":"plain"');
    const goOn = () => rig.receiver.deliveries.filter(isOther).length >= OTHERS;
    await waitFor(goOn, { timeoutMs: 60_000, message: 'deliveries of the queues that are not locked' });
    await wait(rig.random.between(0, 3000));
    record.healedAt = Date.now();
  } finally {
    await client.end();
  }
  await untilBusyAgain(rig);
};

/**
 * F-54: nothing that ends meanwhile can be vacuumed, so a read passes over all of it, unless it begins behind it. Other
 * faults strike at the same time.
 */
export function holdSnapshot(beside: (rig: Rig) => Promise<void>): Fault {
  return async (rig) => {
    const client = new pg.Client({ connectionString: rig.server.url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('begin isolation level repeatable read');
      await client.query('select from queue limit 1');
      const record = note(rig, 'held-snapshot', { underWay: underWay(rig) });
      await beside(rig);
      // Fails if the session has ended, and with it the snapshot.
      await client.query('commit');
      record.healedAt = Date.now();
    } finally {
      await client.end();
    }
    await untilBusyAgain(rig);
  };
}
