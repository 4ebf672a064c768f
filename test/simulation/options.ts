import type { BreakerSettings } from '../../src/domain/breaker.ts';
import { QUEUE_DEFAULTS, type QueueSettings } from '../../src/domain/queue.ts';
import { Random } from './random.ts';

/** Share of each kind of behaviour of a webhook, and of the clients that report on its jobs. */
export interface Behaviour {
  /** 2xx. */
  accepts: number;
  fails: number;
  /** 429, 503 or 529, with all kinds of Retry-After. */
  pushesBack: number;
  /** No answer before the time-out. */
  hangs: number;
  /** No connection, or one that breaks. */
  breaks: number;
  /** An answer around the moment of the time-out. */
  late: number;
}

export const HEALTHY: Behaviour = { accepts: 1, fails: 0, pushesBack: 0, hangs: 0, breaks: 0, late: 0 };

/** The faults of a sequence. Rates are per operation of the kind, counts per sequence. */
export interface Faults {
  crashes: number;
  /** How likely it is that something that begins is hit by a crash or a freeze, while there are any left. */
  strikes: number;
  freezes: number;
  /** Longest freeze, in leases. */
  freezeLeases: number;
  /** The connection of the lease lock breaks while the process goes on, and one or both ends do not notice. */
  silences: number;
  /** Failovers to a server that has the data and none of the locks. */
  failovers: number;
  /** A process is suspended past its lease, and the server ends its connections meanwhile. */
  suspensions: number;
  /** The database's clock jumps by a minute, either way, and back. */
  clockJumps: number;
  databaseRestarts: number;
  /** A connection breaks before or after the commit of its statement. */
  brokenStatements: number;
  /** A statement takes longer than its caller waits, and is carried out all the same. */
  stalledStatements: number;
  deadlocks: number;
  lostWakeUps: number;
  doubledWakeUps: number;
  /** Processes that are stopped in good order and may finish their deliveries. */
  stops: number;
}

export interface Options {
  seed: number;
  processes: number;
  capacity: number;
  jobs: number;
  /** Events of the storm happen within so many milliseconds; after that there are no more faults. */
  stormMs: number;
  webhookTimeoutMs: number;
  lifetimeMs: number;
  /** Longest way of a statement to the database and back. */
  latencyMs: number;
  /** Longest time until a request has reached the webhook, and until that has answered. */
  connectMs: number;
  thinkMs: number;
  queues: Omit<QueueSettings, 'webhookUrl'>[];
  /** The breaker of each queue. */
  breakers: BreakerSettings[];
  /** How long the first queue is held from the start; 0: not at all. */
  heldMs: number;
  behaviour: Behaviour;
  faults: Faults;
  /** Numbers of clients' actions of each kind. */
  actions: { pauses: number; edits: number; moves: number; deletions: number; cancels: number; runNows: number };
  /** In ack mode: shares of the reports, and of two reports at once. */
  reports: { silent: number; doubled: number; defers: number; nacks: number; extensions: number };
  /** False: wake-ups alone must suffice. Only without faults, because the wake-ups of a process that dies are lost. */
  reconciler: boolean;
}

const NO_FAULTS: Faults = {
  crashes: 0,
  strikes: 0,
  freezes: 0,
  freezeLeases: 0,
  silences: 0,
  failovers: 0,
  suspensions: 0,
  clockJumps: 0,
  databaseRestarts: 0,
  brokenStatements: 0,
  stalledStatements: 0,
  deadlocks: 0,
  lostWakeUps: 0,
  doubledWakeUps: 0,
  stops: 0,
};

/** Whether nothing goes wrong, or only these. */
export function hasOnly(faults: Faults, ...kinds: (keyof Faults)[]): boolean {
  // These are not faults; they control how faults come.
  const ignored: string[] = [...kinds, 'strikes', 'freezeLeases'];
  return Object.entries(faults).every(([kind, count]) => count === 0 || ignored.includes(kind));
}

/** The options of a seed. Faults come alone, together, or not at all. */
export function expand(seed: number): Options {
  const random = new Random(seed);
  // Long enough for a lease to end, now and then; mostly short, since short sequences are many.
  const stormMs = random.pick([200, 500, 1000, 3000, 9000]);
  const webhookTimeoutMs = random.pick([500, 1500, 4000]);
  const faults = random.chance(0.15) ? NO_FAULTS : anyFaults(random);
  const some = (probability: number, max: number) => (random.chance(probability) ? random.int(1, max) : 0);
  const options: Options = {
    seed,
    processes: random.pick([1, 1, 2, 2, 3]),
    capacity: random.pick([1, 2, 10, 10]),
    jobs: random.chance(0.02) ? random.int(5, 20) : random.pick([1, 1, 2, 3]),
    stormMs,
    webhookTimeoutMs,
    lifetimeMs: random.pick([4000, 15_000, 40_000]),
    latencyMs: random.pick([1, 5, 40, 400]),
    // A delivery that does not start within the lease's margin of 5 s is abandoned.
    connectMs: random.chance(0.1) ? 7000 : random.pick([1, 20, 200]),
    thinkMs: random.pick([5, 100, webhookTimeoutMs]),
    queues: Array.from({ length: random.pick([1, 1, 1, 2]) }, () => anyQueue(random)),
    behaviour: anyBehaviour(random),
    faults,
    actions: {
      pauses: some(0.2, 2),
      edits: some(0.2, 3),
      moves: 0, // of queues with a breaker
      deletions: some(0.04, 1),
      cancels: some(0.25, 2),
      runNows: some(0.15, 2),
    },
    reports: {
      silent: random.pick([0, 0.1, 0.5]),
      doubled: random.pick([0, 0.3, 0.8]),
      defers: random.pick([0, 0.3, 0.7]),
      nacks: random.pick([0, 0.2]),
      extensions: random.pick([0, 0, 0.5, 1]),
    },
    breakers: [], // of a fourth of the seeds
    heldMs: random.chance(0.2) ? random.int(1, stormMs) : 0,
    reconciler: !hasOnly(faults) || random.chance(0.5),
  };
  if (seed % 8 === 3 || seed % 8 === 6) addBreakers(options);
  return random.chance(0.002) ? poisoned(options) : options;
}

/** A job that kills every process that delivers it, before anything else can end it. */
function poisoned(options: Options): Options {
  const faults = { ...NO_FAULTS, crashes: 100, strikes: 1 };
  const actions = { pauses: 0, edits: 0, moves: 0, deletions: 0, cancels: 0, runNows: 0 };
  const queues = options.queues.map((queue) => ({ ...queue, rateLimitMax: null }));
  return {
    ...options,
    processes: 3,
    jobs: 1,
    stormMs: 60_000,
    lifetimeMs: 200_000,
    connectMs: 5,
    latencyMs: 5,
    heldMs: 0,
    faults,
    actions,
    queues,
    behaviour: HEALTHY,
    reconciler: true,
  };
}

function anyFaults(random: Random): Faults {
  const faults = { ...NO_FAULTS };
  const some = (probability: number, max: number) => (random.chance(probability) ? random.int(1, max) : 0);
  faults.crashes = some(0.4, 3);
  faults.strikes = 0.25;
  faults.freezes = some(0.4, 2);
  faults.freezeLeases = random.pick([0.2, 1, 2.5]);
  faults.silences = some(0.2, 3);
  faults.failovers = some(0.1, 2);
  faults.suspensions = some(0.1, 1);
  faults.clockJumps = some(0.08, 2);
  faults.databaseRestarts = some(0.2, 2);
  faults.brokenStatements = random.chance(0.3) ? random.pick([0.02, 0.2]) : 0;
  faults.stalledStatements = random.chance(0.15) ? 0.05 : 0;
  faults.deadlocks = random.chance(0.15) ? 0.05 : 0;
  faults.lostWakeUps = random.chance(0.3) ? random.pick([0.2, 1]) : 0;
  faults.doubledWakeUps = random.chance(0.2) ? 0.5 : 0;
  faults.stops = some(0.15, 1);
  return faults;
}

function anyQueue(random: Random): Options['queues'][number] {
  return {
    ...QUEUE_DEFAULTS,
    maxAttempts: random.int(1, 4),
    maxDefers: random.int(0, 3),
    concurrency: random.pick([1, 1, 2, 3]),
    dlqEnabled: random.chance(0.7),
    mode: random.chance(0.5) ? 'standard' : 'ack',
    rateLimitMax: random.chance(0.65) ? null : random.int(1, 3),
    rateLimitWindow: random.pick([0.25, 1, 3]),
    ackTimeout: random.pick([0.3, 1, 5]),
    ackTimeoutAction: random.pick(['retry', 'retry', 'dead']),
    backoffType: random.pick(['fixed', 'exponential']),
    backoffDelay: random.pick([0, 0.2, 2]),
  };
}

/** Drawn apart, so that the other seeds go on to mean what they meant. */
function addBreakers(options: Options): void {
  const random = new Random(options.seed ^ 0xb4ea);
  options.breakers = options.queues.map(() =>
    random.pick([
      { failures: 2, seconds: null },
      { failures: 3, seconds: 2 },
      { failures: null, seconds: 1 },
    ]),
  );
  // Long enough for a probe to fail.
  if (random.chance(0.2))
    Object.assign(options, { stormMs: 25_000, lifetimeMs: 40_000, behaviour: { ...HEALTHY, fails: 5 } });
  options.actions.moves = random.int(0, 4);
}

function anyBehaviour(random: Random): Behaviour {
  const kinds: (keyof Behaviour)[] = ['fails', 'pushesBack', 'hangs', 'breaks', 'late'];
  const behaviour = { ...HEALTHY };
  for (const kind of kinds) if (random.chance(0.35)) behaviour[kind] = random.pick([0.1, 0.5, 2]);
  return behaviour;
}
