import { relayDatabase, type TcpRelay } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Client, createClient } from './client.ts';
import { createLoad, type Load } from './load.ts';
import { createRandom, type Random } from './random.ts';
import { openReadings, type Readings } from './readings.ts';
import { type ChaosReceiver, startReceiver } from './receiver.ts';
import type { FaultRecord, QueueRecord, ReadRecord, Run, Snapshot, TerminalRead } from './records.ts';
import { type ChaosServer, startServer } from './server.ts';
import { type Slot, supervise } from './supervisor.ts';

/** Everything of a run: a database server, processes, a receiver and customers, and what was seen of them. */
export interface Rig {
  random: Random;
  server: ChaosServer;
  readings: Readings;
  receiver: ChaosReceiver;
  load: Load;
  client: Client;
  apis: Slot[];
  workers: Slot[];
  queues: QueueRecord[];
  faults: FaultRecord[];
  /** Between the database and the first API and the first worker. */
  relay: TcpRelay;
  leaseMs: number;
  /** What processes said that ended without being told to. */
  lastWords: string[];
  /** Ends the load, heals everything, waits until all work has ended, and reads what became of it. */
  drain(withinMs?: number): Promise<Run>;
  close(): Promise<void>;
}

const KEY = 'key-of-the-chaos-account';
const WEBHOOK_TIMEOUT_MS = 1000;
/** What src/worker adds to the webhook's time. */
const LEASE_MS = WEBHOOK_TIMEOUT_MS + 5000;

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
}

export async function startRig({ seed, apis, workers, env = {} }: RigOptions): Promise<Rig> {
  const random = createRandom(seed);
  const server = await startServer();
  const { relay, url: relayed } = await relayDatabase(server.url);
  const readings = openReadings(server.url);
  await readings.installTrigger();
  const faults: FaultRecord[] = [];
  const lastWords: string[] = [];
  const settings = { BOOTSTRAP_API_KEY: KEY, WEBHOOK_TIMEOUT_SECONDS: String(WEBHOOK_TIMEOUT_MS / 1000), ...env };
  const place = (role: 'api' | 'worker') => (_: unknown, n: number) =>
    supervise({
      role,
      databaseUrl: n === 0 ? relayed : server.url,
      env: settings,
      onUnexpectedExit(pid, said) {
        const at = Date.now();
        faults.push({ kind: 'unexpected-exit', pid, at, healedAt: null, interrupted: [], underWay: 0 });
        lastWords.push(said);
      },
    });
  const apiSlots = await Promise.all(Array.from({ length: apis }, place('api')));
  const workerSlots = await Promise.all(Array.from({ length: workers }, place('worker')));

  const baseUrls = () => apiSlots.flatMap(({ process }) => (process === null ? [] : [process.baseUrl]));
  const client = createClient({ key: KEY, baseUrls, random });
  const queues: QueueRecord[] = [];
  const load = createLoad({ client, random, readings, queues, webhookTimeoutMs: WEBHOOK_TIMEOUT_MS });
  const receiver = await startReceiver((envelope, before) => load.mind(envelope, before));
  for (const settings of QUEUES) queues.push(await createQueue(client, receiver.url, settings));
  const watch = watchDatabase(readings);

  async function drain(withinMs = 90_000): Promise<Run> {
    await load.stop();
    await Promise.all([relay.heal(), server.back()]);
    await Promise.all([...apiSlots, ...workerSlots].map((slot) => slot.ready()));
    // What did not end in time is what the checker looks for.
    const done = waitFor(async () => (await readings.unfinished()) === 0, { timeoutMs: withinMs, everyMs: 200 });
    await done.catch(() => undefined);
    await load.stop();
    await watch.stop();
    const jobs = await readings.jobs();
    return {
      webhookTimeoutMs: WEBHOOK_TIMEOUT_MS,
      leaseMs: LEASE_MS,
      queues,
      publishes: load.publishes,
      reports: load.reports,
      replays: load.replays,
      reads: await readBack(client, load, random),
      deliveries: receiver.deliveries,
      faults,
      jobs,
      history: await readings.history(),
      deadLetters: await readings.deadLetters(),
      changes: await readings.changes(),
      terminalReads: watch.finished,
      snapshots: watch.snapshots,
      usage: await readings.usage(),
    };
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
    relay,
    leaseMs: LEASE_MS,
    lastWords,
    drain,
    async close() {
      await watch.stop();
      await Promise.all([...apiSlots, ...workerSlots].map((slot) => slot.close()));
      await receiver.close();
      await readings.close();
      await relay.cut();
      await server.stop();
    },
  };
}

async function createQueue(client: Client, url: string, settings: (typeof QUEUES)[number]): Promise<QueueRecord> {
  const { name, mode, concurrency, maxAttempts, maxDefers, dlqEnabled, rateLimitMax } = settings;
  const sent = {
    ...{ name, mode, concurrency, maxAttempts, maxDefers, dlqEnabled, rateLimitMax },
    webhookUrl: `${url}/${name}`,
    rateLimitWindow: settings.rateLimitWindowMs / 1000,
    backoffType: 'fixed',
    backoffDelay: settings.backoffMs / 1000,
    ackTimeout: settings.ackTimeoutMs / 1000,
    ackTimeoutAction: 'retry',
  };
  const { status, body } = await client.call('POST', '/v1/queues', JSON.stringify(sent));
  if (status !== 201) throw new Error(`creating queue ${name} answered ${status}: ${JSON.stringify(body)}`);
  const { id, signingSecret } = body as { id: string; signingSecret: string };
  return { ...settings, id, signingSecret };
}

/** Looks at the database again and again; what it cannot see while that is away, it does not see. */
function watchDatabase(readings: Readings) {
  const snapshots: Snapshot[] = [];
  const finished: TerminalRead[] = [];
  let stopped = false;
  let rounds = 0;
  const watching = (async () => {
    for (; !stopped; rounds += 1) {
      await readings.snapshot().then(
        (seen) => snapshots.push(...seen),
        () => undefined,
      );
      if (rounds % 5 === 0)
        await readings.finished().then(
          (seen) => finished.push(...seen),
          () => undefined,
        );
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  return {
    snapshots,
    finished,
    async stop() {
      stopped = true;
      await watching;
    },
  };
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
