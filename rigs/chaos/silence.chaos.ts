import { afterAll, describe, it } from 'vitest';
import {
  failOver,
  fillDisk,
  goBack,
  hangStandby,
  lockQueue,
  moveClock,
  readOnly,
  stallOpening,
} from './database-faults.ts';
import { CAN_MOUNT, mountSmallDisk } from './disk.ts';
import { dropNames, loseWay, startProxy } from './egress-faults.ts';
import { type Evidence, writeEvidence } from './evidence.ts';
import { type Fault, strike } from './faults.ts';
import { startNameServer } from './name-server.ts';
import { count, MINUTES, type Phase, runPhase, within } from './phases.ts';
import { startServer } from './server.ts';
import { startServerPair } from './server-pair.ts';
import { silenceAll, silenceOne, stallWorker, suspendWorker } from './silences.ts';

/**
 * Tier 2 for F-31 to F-50 (docs/invariants.md), but for F-47: silence, failovers, suspensions, wrong clocks, stalls,
 * lost ways. Started by `npm run rig chaos`, or alone by
 * `npx vitest run --config vitest.runs.config.ts --project chaos silence`; `-t F-34` runs one fault only, and each
 * count is a variable.
 */

const COUNTS = {
  serverGone: count('SERVER_GONE', 100),
  clientGone: count('CLIENT_GONE', 100),
  blackHoles: count('BLACK_HOLES', 100),
  failovers: count('FAILOVERS', 100),
  /** Number of them that are followed by a return to the former server (I-44). */
  returns: count('RETURNS', 10),
  readOnly: count('READ_ONLY', 100),
  suspensions: count('SUSPENSIONS', 100),
  names: count('NAMES', 100),
  /** Number of faults with each of the three shifts. */
  clocks: count('CLOCKS', 20),
  /** Services that they are spread over: more at once than a machine can run would only show its own time-outs. */
  clockServices: count('CLOCK_SERVICES', 5),
  clockSeconds: count('CLOCK_SECONDS', 60),
  disks: count('DISKS', 10),
  diskSeconds: count('DISK_SECONDS', 30),
  standbys: count('STANDBYS', 10),
  standbySeconds: count('STANDBY_SECONDS', 40),
  stalls: count('STALLS', 50),
  openings: count('OPENINGS', 20),
  locks: count('LOCKS', 30),
  proxies: count('PROXIES', 20),
  resolvers: count('RESOLVERS', 20),
};
const SEED = count('SEED', Date.now() % 2 ** 31);
const PER_SECOND = count('PER_SECOND', 40);
/** Where several services run side by side. */
const SMALL_LOAD = Math.min(10, PER_SECOND);

const evidence: Evidence = { part: 'silence', seed: SEED, perSecond: PER_SECOND, phases: [], unfinished: [] };

afterAll(() => writeEvidence(evidence));

const WORKERS = 6;
const HOUR_MS = 3_600_000;

/** A third of them strike all workers at the same time. */
async function silenced(rig: Parameters<Fault>[0], how: Parameters<typeof silenceOne>[0], times: number) {
  const rounds = Math.ceil(times / 3 / WORKERS);
  const one = { times: times - rounds * WORKERS, atOnce: 2, until: within(10 * MINUTES) };
  return {
    one: () => strike(rig, silenceOne(how), one),
    all: () => strike(rig, silenceAll(how), { times: rounds, atOnce: 1 }),
  };
}

const SILENCE: Phase = {
  name: 'F-31, F-32, F-33: silent connections',
  seed: SEED,
  workers: WORKERS,
  apis: 3,
  perSecond: PER_SECOND,
  relayEach: true,
  startServer: () => startServer({ settings: ['max_connections = 300'] }),
  faults: async (rig) => {
    const kinds = await Promise.all([
      silenced(rig, 'server-gone', COUNTS.serverGone),
      silenced(rig, 'client-gone', COUNTS.clientGone),
      silenced(rig, 'black-hole', COUNTS.blackHoles),
    ]);
    await Promise.all(kinds.map(({ one }) => one()));
    for (const { all } of kinds) await all();
  },
  least: { 'server-gone': COUNTS.serverGone, 'client-gone': COUNTS.clientGone, 'black-hole': COUNTS.blackHoles },
};

const FAILOVER: Phase = {
  name: 'F-34: failovers',
  seed: SEED + 1,
  workers: 3,
  apis: 2,
  perSecond: PER_SECOND,
  relayEach: true,
  startServer: startServerPair,
  faults: async (rig) => {
    const until = within(20 * MINUTES);
    const { returns } = COUNTS;
    await strike(rig, failOver, { times: COUNTS.failovers - returns, atOnce: 1, until });
    await strike(rig, goBack, { times: returns, atOnce: 1, until });
  },
  least: { 'fail-over': COUNTS.failovers },
};

const READ_ONLY: Phase = {
  name: 'F-35: a database that takes no writes',
  seed: SEED + 2,
  workers: 2,
  apis: 2,
  perSecond: SMALL_LOAD * 2,
  relayEach: true,
  faults: async (rig) => {
    const until = within(40 * MINUTES);
    // One as long as an operator's mistake, the others as long as a switch of servers.
    await strike(rig, readOnly(30_000), { times: Math.min(1, Math.floor(COUNTS.readOnly / 50)), atOnce: 1 });
    const left = COUNTS.readOnly - rig.faults.filter(({ kind }) => kind === 'read-only').length;
    await strike(rig, (one) => readOnly(one.random.between(500, 3500))(one), { times: left, atOnce: 1, until });
  },
  least: { 'read-only': COUNTS.readOnly },
};

const SUSPENDED: Phase = {
  name: 'F-36: suspended processes',
  seed: SEED + 3,
  workers: 8,
  apis: 1,
  perSecond: PER_SECOND,
  relayEach: true,
  faults: (rig) => strike(rig, suspendWorker, { times: COUNTS.suspensions, atOnce: 5, until: within(15 * MINUTES) }),
  least: { 'suspend-worker': COUNTS.suspensions },
};

const STALLED: Phase = {
  name: 'F-50: answers in the sockets of a stalled process',
  seed: SEED + 7,
  workers: 6,
  apis: 1,
  perSecond: PER_SECOND,
  faults: (rig) => strike(rig, stallWorker, { times: COUNTS.stalls, atOnce: 3, until: within(5 * MINUTES) }),
  least: { 'stall-worker': COUNTS.stalls },
};

const OPENING: Phase = {
  name: 'F-43: a database that stalls while connections are opened',
  seed: SEED + 8,
  workers: 2,
  apis: 2,
  perSecond: SMALL_LOAD * 2,
  relayEach: true,
  faults: (rig) => strike(rig, stallOpening, { times: COUNTS.openings, atOnce: 1, until: within(10 * MINUTES) }),
  least: { 'stall-opening': COUNTS.openings },
};

const LOCKED: Phase = {
  name: 'F-44: a foreign lock on a queue',
  seed: SEED + 9,
  workers: 1,
  apis: 1,
  perSecond: SMALL_LOAD * 2,
  faults: (rig) => strike(rig, lockQueue, { times: COUNTS.locks, atOnce: 1, until: within(10 * MINUTES) }),
  least: { 'foreign-lock': COUNTS.locks },
};

async function playProxy(): Promise<void> {
  const proxy = await startProxy();
  try {
    await runPhase(evidence, {
      name: 'F-45: a proxy that goes away',
      seed: SEED + 20,
      workers: 1,
      apis: 1,
      perSecond: SMALL_LOAD,
      env: { WEBHOOK_PROXY_URL: proxy.url },
      faults: (rig) => strike(rig, loseWay('proxy-away', proxy), { times: COUNTS.proxies, atOnce: 1 }),
      least: { 'proxy-away': COUNTS.proxies },
    });
  } finally {
    await proxy.end();
  }
}

async function playResolvers(): Promise<void> {
  const names = await startNameServer();
  const silence = (silent: boolean) => async () => void Object.assign(names, { silent });
  try {
    await runPhase(evidence, {
      name: 'F-46: no name server answers',
      seed: SEED + 21,
      workers: 1,
      apis: 1,
      perSecond: SMALL_LOAD,
      // A look-up takes 3 s, and then a second to learn that no name server works.
      hosts: HOSTS,
      env: { WEBHOOK_DNS_SERVERS: names.address },
      webhookTimeoutMs: 6000,
      faults: (rig) => {
        const way = { begin: silence(false), end: silence(true) };
        return strike(rig, loseWay('names-away', way), { times: COUNTS.resolvers, atOnce: 1 });
      },
      least: { 'names-away': COUNTS.resolvers },
    });
  } finally {
    await names.close();
  }
}

const HOSTS = ['one.test', 'two.test', 'three.test', 'four.test', 'quiet.test'];

async function playNames(): Promise<void> {
  const names = await startNameServer();
  try {
    await runPhase(evidence, {
      name: 'F-37: a name server that drops',
      seed: SEED + 4,
      workers: 1,
      apis: 1,
      perSecond: SMALL_LOAD * 2,
      relayEach: true,
      hosts: HOSTS,
      env: { WEBHOOK_DNS_SERVERS: names.address },
      webhookTimeoutMs: 15_000,
      // The last host's names are always answered.
      faults: (rig) => strike(rig, dropNames(names, HOSTS.slice(0, -1)), { times: COUNTS.names, atOnce: 3 }),
      least: { 'name-server': COUNTS.names },
    });
  } finally {
    await names.close();
  }
}

/** Each with a service of its own, since one clock can be wrong in one way at a time. */
const CLOCKS: Phase[] = Array.from({ length: Math.min(COUNTS.clocks, COUNTS.clockServices) }, (_, n) => {
  const times = Math.floor((COUNTS.clocks + n) / COUNTS.clockServices) || 1;
  return {
    name: `F-38: wrong clocks, ${n + 1}`,
    seed: SEED + 10 + n,
    workers: 1,
    apis: 1,
    perSecond: SMALL_LOAD / 4,
    env: { RETENTION_SWEEP_SECONDS: '5' },
    faults: async (rig) => {
      for (const hours of [100, -1, 1]) {
        await strike(rig, moveClock(hours * HOUR_MS, COUNTS.clockSeconds * 1000), { times, atOnce: 1 });
      }
    },
    least: { clock: 3 * times },
  };
});

async function playDisk(): Promise<void> {
  const disk = await mountSmallDisk(320);
  const settings = ['max_wal_size = 48MB', 'min_wal_size = 32MB'];
  try {
    await runPhase(evidence, {
      name: 'F-39: a full disk',
      seed: SEED + 5,
      workers: 1,
      apis: 1,
      perSecond: SMALL_LOAD,
      relayEach: true,
      startServer: () => startServer({ folder: disk.folder, settings }),
      faults: (rig) =>
        strike(rig, fillDisk(disk.folder, COUNTS.diskSeconds * 1000), { times: COUNTS.disks, atOnce: 1 }),
      least: { 'disk-full': COUNTS.disks },
    });
  } finally {
    await disk.unmount();
  }
}

const STANDBY: Phase = {
  name: 'F-40: a standby that hangs',
  seed: SEED + 6,
  workers: 1,
  apis: 2,
  perSecond: SMALL_LOAD,
  relayEach: true,
  startServer: startServerPair,
  faults: (rig) => strike(rig, hangStandby(COUNTS.standbySeconds * 1000), { times: COUNTS.standbys, atOnce: 1 }),
  least: { 'standby-hangs': COUNTS.standbys },
};

const show = async (phase: Phase) => void (await runPhase(evidence, phase));
const timeout = { timeout: 60 * MINUTES };

describe('faults that processes do not notice', () => {
  it(SILENCE.name, timeout, () => show(SILENCE));
  it(FAILOVER.name, timeout, () => show(FAILOVER));
  it(SUSPENDED.name, timeout, () => show(SUSPENDED));
  it(STALLED.name, timeout, () => show(STALLED));
  it(OPENING.name, timeout, () => show(OPENING));
});

// These wait most of the time, so they do it side by side.
describe.concurrent('what takes long', () => {
  it(READ_ONLY.name, timeout, () => show(READ_ONLY));
  it('F-37: a name server that drops', timeout, playNames);
  it.each(CLOCKS)('$name', timeout, show);
  it(STANDBY.name, timeout, () => show(STANDBY));
  it(LOCKED.name, timeout, () => show(LOCKED));
  it('F-45: a proxy that goes away', timeout, playProxy);
  it('F-46: no name server answers', timeout, playResolvers);
  if (!CAN_MOUNT) console.warn('F-39 IS LEFT OUT: mounting a small disk needs root on Linux');
  it.runIf(CAN_MOUNT)('F-39: a full disk', timeout, playDisk);
});
