import { setTimeout as sleep } from 'node:timers/promises';
import { relayDatabase, type TcpRelay } from '../../test/support/tcp-relay.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import type { ClusterDatabase } from '../patroni/cluster.ts';
import { type Client, createClient } from './client.ts';
import { holdKeys } from './keys.ts';
import { createLoad, type Load } from './load.ts';
import { createRandom, type Random } from './random.ts';
import { openReadings, type Readings } from './readings.ts';
import { type ChaosReceiver, startReceiver } from './receiver.ts';
import type { ExitRecord, FaultRecord, ProbeRecord, QueueRecord, ReadRecord, Run } from './records.ts';
import { type ChaosServer, startServer } from './server.ts';
import type { ServerPair } from './server-pair.ts';
import { type Slot, supervise } from './supervisor.ts';
import { watchDatabase } from './watch.ts';

/** Everything of a run: a database server, processes, a receiver and clients, and the records of them. */
export interface Rig {
  random: Random;
  server: ChaosServer | ServerPair | ClusterDatabase;
  readings: Readings;
  receiver: ChaosReceiver;
  load: Load;
  client: Client;
  apis: Slot[];
  workers: Slot[];
  queues: QueueRecord[];
  faults: FaultRecord[];
  /** Between the database and the first API and the first worker, unless each process has one of its own. */
  relay: TcpRelay;
  /** Between the database and this process. Only with a relay for each. */
  relayOf(slot: Slot): TcpRelay;
  /** All relays between processes and the database. */
  relays: TcpRelay[];
  /** Between the database and the readings. */
  inside: TcpRelay;
  probes: ProbeRecord[];
  pastWrites: Run['pastWrites'];
  webhookTimeoutMs: number;
  leaseMs: number;
  /** The last output of processes that ended by themselves. */
  lastWords: string[];
  /** Ends the load, heals everything, waits until all work has ended, ends the processes, and reads the final state. */
  drain(withinMs?: number): Promise<Run>;
  close(): Promise<void>;
}

const KEY = 'key-of-the-chaos-account';
const WEBHOOK_TIMEOUT_MS = 1000;
/** The part of the lease that src/worker adds to the webhook's time-out. */
const LEASE_MARGIN_MS = 5000;
/** Work that is due later than this, because a clock was moved, is not waited for. */
const FAR_MS = 60_000;
/** A leap of the clock covers jobs that are due within this time after it. */
const LEAP_MS = 5000;
/** Settings of processes that trust a clock after a leap, and keep ended jobs so that they can be read. */
const BELIEVING = { MAX_CLOCK_JUMP_SECONDS: '1000000', JOB_RETENTION_SECONDS: '1000000' };

const PLAIN = {
  mode: 'standard' as const,
  concurrency: 60,
  maxAttempts: 4,
  maxDefers: 3,
  dlqEnabled: true,
  rateLimitMax: null as number | null,
  rateLimitWindowMs: 1000,
  backoffMs: 300,
  ackTimeoutMs: 2000,
  retryAfterMs: 1000,
  unlimited: false,
  host: null as string | null,
};

const QUEUES: (typeof PLAIN & { name: string; mode: 'standard' | 'ack' })[] = [
  { ...PLAIN, name: 'plain', unlimited: true },
  { ...PLAIN, name: 'keyed', unlimited: true },
  { ...PLAIN, name: 'delayed', unlimited: true },
  { ...PLAIN, name: 'acked', mode: 'ack' as never, maxAttempts: 6, maxDefers: 5 },
  { ...PLAIN, name: 'limited', rateLimitMax: 3 },
  { ...PLAIN, name: 'single', concurrency: 1 },
  { ...PLAIN, name: 'flaky', maxAttempts: 3, maxDefers: 1 },
  { ...PLAIN, name: 'flaky-forgotten', maxAttempts: 3, dlqEnabled: false },
];

export interface RigOptions {
  seed: number;
  apis: number;
  workers: number;
  env?: Record<string, string>;
  /** Further settings of the last worker alone, or of all others. */
  envOfLast?: Record<string, string>;
  envOfOthers?: Record<string, string>;
  /** A relay for each process, so that its connections can be broken alone. */
  relayEach?: boolean;
  startServer?: () => Promise<Rig['server']>;
  webhookTimeoutMs?: number;
  /** Whether keys are made, used and revoked all the while. */
  revoke?: boolean;
  /** Names under which the receiver is reached; each has a queue of its own. */
  hosts?: string[];
}

export async function startRig(options: RigOptions): Promise<Rig> {
  const {
    seed,
    apis,
    workers,
    env = {},
    envOfLast = {},
    envOfOthers = {},
    relayEach = false,
    webhookTimeoutMs = WEBHOOK_TIMEOUT_MS,
    hosts = [],
  } = options;
  const leaseMs = webhookTimeoutMs + LEASE_MARGIN_MS;
  const random = createRandom(seed);
  const server = await (options.startServer ?? startServer)();
  const shared = await relayDatabase(server.url);
  const inside = await relayDatabase(server.url);
  const readings = openReadings(inside.url);
  await readings.installTrigger();
  const faults: FaultRecord[] = [];
  const lastWords: string[] = [];
  const relays = new Map<Slot, TcpRelay>();
  const counted = new Map<string, TcpRelay>();
  const settings = { BOOTSTRAP_API_KEY: KEY, WEBHOOK_TIMEOUT_SECONDS: String(webhookTimeoutMs / 1000), ...env };
  const place = (role: 'api' | 'worker') => async (_: unknown, n: number) => {
    const own = relayEach ? await relayDatabase(server.url) : shared;
    const isLast = role === 'worker' && n === workers - 1;
    const slot = await supervise({
      role,
      // Every other worker, so that publishes that claim and those that do not meet all faults.
      hasBothRoles: role === 'worker' && n % 2 === 0,
      databaseUrl: server.hostsUrl ?? (relayEach || n === 0 ? own.url : server.url),
      // `settings` change while the rig runs.
      env: () => ({ ...settings, ...(isLast ? envOfLast : envOfOthers) }),
      onUnexpectedExit(pid, said) {
        const at = Date.now();
        faults.push({ kind: 'unexpected-exit', pid, at, healedAt: null, interrupted: [], underWay: 0 });
        lastWords.push(said);
      },
    });
    relays.set(slot, own.relay);
    if (relayEach) counted.set(`${role} ${n + 1}`, own.relay);
    return slot;
  };
  const apiSlots = await Promise.all(Array.from({ length: apis }, place('api')));
  const workerSlots = await Promise.all(Array.from({ length: workers }, place('worker')));

  const serving = [...apiSlots, ...workerSlots].filter(({ servesApi }) => servesApi);
  const baseUrls = () => serving.flatMap(({ process }) => (process === null ? [] : [process.baseUrl]));
  const client = createClient({ key: KEY, baseUrls, random });
  const queues: QueueRecord[] = [];
  const load = createLoad({ client, random, readings, queues, webhookTimeoutMs });
  const receiver = await startReceiver((envelope, before) => load.mind(envelope, before));
  const stop = async () => {
    await Promise.all([...apiSlots, ...workerSlots].map((slot) => slot.close()));
    await receiver.close();
    await readings.close();
    await Promise.all([shared.relay, inside.relay, ...relays.values()].map((relay) => relay.cut()));
    await server.stop();
  };
  try {
    for (const settings of QUEUES) queues.push(await createQueue(client, receiver.url, settings));
    for (const [n, host] of hosts.entries()) {
      const url = `http://${host}:${new URL(receiver.url).port}`;
      const patient = { ...PLAIN, name: `named-${n + 1}`, host, maxAttempts: 10, backoffMs: 2000 };
      queues.push(await createQueue(client, url, patient));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const watch = watchDatabase(readings, counted);
  const keys = options.revoke ? holdKeys({ key: KEY, baseUrls, random, queue: queues[0] as QueueRecord }) : null;
  const probes: ProbeRecord[] = [];
  const pastWrites: Run['pastWrites'] = [];

  /**
   * For jobs whose due time is ahead because the database's clock was ahead and was set back: moves the clock to one
   * due time after the other. One leap to the last due time would end the lifetimes of the other jobs.
   */
  async function catchUp(withinMs: number): Promise<void> {
    const leap = async (shiftMs: number, isDone: () => Promise<boolean>) => {
      const fault: FaultRecord = {
        kind: 'clock',
        pid: 0,
        at: Date.now(),
        healedAt: null,
        interrupted: [],
        underWay: 0,
        shiftMs,
      };
      faults.push(fault);
      await readings.shiftClock(shiftMs);
      await untilDone(withinMs, isDone);
      fault.healedAt = Date.now();
    };
    let shiftMs = 0;
    for (;;) {
      const dueMs = await readings.nextDueMs();
      // If a due job does not end, the checker reports it.
      if (dueMs === null || dueMs < shiftMs) break;
      shiftMs = Math.ceil(dueMs) + LEAP_MS;
      await leap(shiftMs, async () => (await readings.unfinished(FAR_MS)) === 0);
    }
    if ((await readings.unfinished()) > 0) {
      // Workers end no lifetime by a clock that has just been moved.
      Object.assign(settings, BELIEVING);
      await Promise.all(workerSlots.map((slot) => slot.end('SIGTERM').then(slot.ready)));
      await leap(shiftMs, async () => (await readings.unfinished()) === 0);
    }
    await readings.shiftClock(0);
  }

  // If work did not end in time, the checker reports it.
  const untilDone = (withinMs: number, isDone = async () => (await readings.unfinished()) === 0) =>
    waitFor(isDone, { timeoutMs: withinMs, everyMs: 200 }).catch(() => undefined);

  async function drain(withinMs = 90_000): Promise<Run> {
    await load.stop();
    await Promise.all([shared.relay, inside.relay, ...relays.values()].map((relay) => relay.heal()));
    await server.back();
    await Promise.all([...apiSlots, ...workerSlots].map((slot) => slot.ready()));
    const isMoved = faults.some(({ kind }) => kind === 'clock');
    await untilDone(withinMs, async () => (await readings.unfinished(isMoved ? FAR_MS : undefined)) === 0);
    if (isMoved) await catchUp(withinMs);
    await load.stop();
    await Promise.all([watch.stop(), keys?.stop()]);
    const reads = await readBack(client, load, random);
    const exits = await stopAll();
    const jobs = await readings.jobs();
    return {
      webhookTimeoutMs,
      leaseMs,
      queues,
      publishes: load.publishes,
      reports: load.reports,
      replays: load.replays,
      reads,
      deliveries: receiver.deliveries,
      faults,
      jobs,
      history: await readings.history(),
      deadLetters: await readings.deadLetters(),
      changes: await readings.changes(),
      terminalReads: watch.finished,
      snapshots: watch.snapshots,
      usage: await readings.usage(),
      removals: await readings.removals(),
      locks: watch.locks,
      probes,
      revocations: keys?.revocations ?? [],
      sessions: watch.sessions(),
      pastWrites,
      exits,
    };
  }

  /** One after the other: on a machine with few cores all together would only show how long it takes to end so many. */
  async function stopAll(): Promise<ExitRecord[]> {
    const exits: ExitRecord[] = [];
    for (const [n, slot] of [...workerSlots, ...apiSlots].entries()) {
      exits.push({ process: `${slot.role} ${n + 1}`, tookMs: await slot.stop() });
    }
    return exits;
  }

  return {
    random,
    server,
    readings,
    receiver,
    load,
    client,
    apis: apiSlots,
    workers: workerSlots,
    queues,
    faults,
    relay: shared.relay,
    relayOf(slot) {
      const relay = relays.get(slot);
      if (relay === undefined || relay === shared.relay) throw new Error('the process has no relay of its own');
      return relay;
    },
    relays: relayEach ? [...relays.values()] : [shared.relay],
    inside: inside.relay,
    probes,
    pastWrites,
    webhookTimeoutMs,
    leaseMs,
    lastWords,
    drain,
    async close() {
      await Promise.all([watch.stop(), keys?.stop()]);
      await stop();
    },
  };
}

async function createQueue(client: Client, url: string, settings: (typeof QUEUES)[number]): Promise<QueueRecord> {
  const { name, mode, concurrency, maxAttempts, maxDefers, dlqEnabled, rateLimitMax } = settings;
  const sent = {
    name,
    mode,
    concurrency,
    maxAttempts,
    maxDefers,
    dlqEnabled,
    rateLimitMax,
    webhookUrl: `${url}/${name}`,
    rateLimitWindow: settings.rateLimitWindowMs / 1000,
    backoffType: 'fixed',
    backoffDelay: settings.backoffMs / 1000,
    ackTimeout: settings.ackTimeoutMs / 1000,
    ackTimeoutAction: 'retry',
  };
  let { status, body } = await client.call('POST', '/v1/queues', JSON.stringify(sent));
  // A dozen processes that start at once may keep the database from answering; then nothing was stored.
  for (let tries = 0; status === 503 && tries < 10; tries += 1) {
    await sleep(500);
    ({ status, body } = await client.call('POST', '/v1/queues', JSON.stringify(sent)));
  }
  if (status !== 201) throw new Error(`creating queue ${name} answered ${status}: ${JSON.stringify(body)}`);
  const { id, signingSecret } = body as { id: string; signingSecret: string };
  return { ...settings, id, signingSecret };
}

/** GET of some of the jobs that were accepted. */
async function readBack(client: Client, load: Load, random: Random): Promise<ReadRecord[]> {
  const ids = load.publishes.flatMap(({ id }) => (id === null ? [] : [id]));
  const chosen = ids.length === 0 ? [] : Array.from({ length: 50 }, () => random.pick(ids));
  const reads: ReadRecord[] = [];
  for (const id of new Set(chosen)) {
    const { status, body } = await client.call('GET', `/v1/jobs/${id}`);
    reads.push({ id, status: status ?? 0, job: status === 200 ? (body as ReadRecord['job']) : null });
  }
  return reads;
}
