import { Checker } from './checker.ts';
import { Clients } from './clients.ts';
import { Server } from './connection.ts';
import { breakerOf, hasBreaker } from './model/breaker.ts';
import { type Execute, execute } from './model/statements.ts';
import { type JobRow, Tables } from './model/tables.ts';
import { expand, HEALTHY, hasOnly, type Options } from './options.ts';
import { ACCOUNT, Process } from './process.ts';
import { Random } from './random.ts';
import { type Answer, type Arrival, Receiver } from './receiver.ts';
import { Scheduler } from './scheduler.ts';
import { Storm } from './storm.ts';
import { WakeUps } from './wake-ups.ts';

/** An error in `src` or in the model, on purpose: the checker must see it. */
export interface Planted {
  /** In place of the model's statements, which it may call. */
  execute?: Execute;
  /** A process takes an open socket for a lease lock that the server has. */
  believesInSocket?: boolean;
  /** The sender does not check whether the process still has the claim. */
  sendsAlways?: boolean;
}

const START = Date.UTC(2026, 10, 21, 12);
/** A broken invariant. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** A sequence with more events has an endless loop. */
const MAX_EVENTS = 60_000;
/** From a fault to the end of its effects: lease, two polls for dead workers, reconciler, and retries of each. */
const RECOVERY_MS = 40_000;
/** From the end of a lifetime to the round of the reconciler that ends the job, with a retry. */
const LATE_MS = 12_000;

/**
 * One sequence of events: a few jobs, and the clients, processes, database and webhook that act on them.
 * After the storm there are no more faults, and every job must end.
 */
export class Simulation {
  readonly options: Options;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly tables: Tables;
  readonly server: Server;
  readonly checker: Checker;
  readonly receiver: Receiver;
  readonly clients: Clients;
  readonly processes: Process[] = [];
  #clockShiftMs = 0;
  readonly #storm: Storm;
  readonly #planted: Planted;
  readonly #path: { webhookTimeoutMs: number; connectMs: number; thinkMs: number };
  #isHealed = false;
  #endBy = Number.POSITIVE_INFINITY;
  #overAt: number | null = null;

  constructor(
    seed: number,
    reached: (state: string) => void,
    trace: ((line: string) => void) | null,
    planted: Planted,
  ) {
    this.options = expand(seed);
    this.#planted = planted;
    const { options } = this;
    this.random = new Random(seed ^ 0x5eed);
    this.scheduler = new Scheduler(this.random, trace);
    const { scheduler } = this;
    this.tables = new Tables(() => START + this.#clockShiftMs + Math.floor(scheduler.now));
    this.checker = new Checker(this.tables, this.processes, reached, (...broken) => this.violated(...broken));
    this.server = new Server({
      tables: this.tables,
      execute: planted.execute ?? execute,
      scheduler,
      faults: { ...options.faults },
      latencyMs: options.latencyMs,
      reached,
      onCommit: this.#committed.bind(this),
      onAsk: this.#asked.bind(this),
    });
    const { webhookTimeoutMs, connectMs, thinkMs } = options;
    this.#path = { webhookTimeoutMs, connectMs, thinkMs };
    this.receiver = new Receiver(
      {
        scheduler,
        options: this.#path,
        reached,
        clock: this.tables.clock,
        asks: !planted.sendsAlways,
        onSent: (jobId) => this.checker.onSent(jobId),
        onArrival: (arrival) => this.#arrived(arrival),
        onAnswer: (arrival, answer) => this.#answered(arrival, answer),
      },
      options.behaviour,
    );
    this.clients = new Clients(this, reached);
    this.#storm = new Storm(this, reached);
    const wakeUps = new WakeUps(this, reached);
    this.tables.onWake = (row) => wakeUps.carry(row);
    this.#prepare();
  }

  get isHealed(): boolean {
    return this.#isHealed;
  }

  /** The share of hints that no process receives. */
  get lostWakeUps(): number {
    return this.#isHealed ? 0 : this.options.faults.lostWakeUps;
  }

  /** How far the database's clock is off. */
  get clockShiftMs(): number {
    return this.#clockShiftMs;
  }

  shiftClock(ms: number): void {
    if (ms !== this.#clockShiftMs) this.checker.onClockJump();
    this.#clockShiftMs = ms;
  }

  /** Ends the run: a promise is broken. */
  violated(invariant: string, detail: string): void {
    this.scheduler.fail(new Violation(`${invariant}: ${detail}`));
  }

  /** One event more; false when all is over. */
  step(): boolean {
    const { scheduler } = this;
    if (scheduler.failure !== null) throw scheduler.failure;
    if (this.#isOver()) return false;
    if (!scheduler.step()) throw new Violation('I-35 Recovery: nothing will ever happen any more');
    if (scheduler.events > MAX_EVENTS) throw new Violation('I-35 Recovery: it goes round in circles');
    if (scheduler.now > this.#endBy && !this.#isHeld()) {
      throw new Violation(`I-35 Recovery: not all has come to its end: ${this.#described()}`);
    }
    return true;
  }

  #left(): JobRow[] {
    return [...this.tables.jobs.values()].filter(({ status }) => status !== 'completed' && status !== 'dead');
  }

  #described(): string {
    const queues = JSON.stringify([...this.tables.queues.values()]);
    return `${JSON.stringify(this.#left())}, ${this.clients.open} publishes, queues ${queues}`;
  }

  /**
   * Whether all that is left waits for the end of a hold, which a late answer may have set,
   * and the end of its lifetime has not been missed.
   */
  #isHeld(): boolean {
    const now = this.tables.clock();
    const left = this.#left();
    return (
      left.length > 0 &&
      left.every((job) => {
        const { holdUntil } = this.tables.queues.get(job.queueId) ?? { holdUntil: null };
        return job.status === 'pending' && holdUntil !== null && now < holdUntil && now < job.deliverBy + LATE_MS;
      })
    );
  }

  #isOver(): boolean {
    if (!this.#isHealed || this.checker.open > 0 || this.clients.open > 0) return false;
    const { now } = this.scheduler;
    // Late events may still come.
    this.#overAt ??= now + (this.receiver.underWay > 0 ? this.options.webhookTimeoutMs + 100 : 0);
    if (now < this.#overAt) return false;
    this.checker.onEnd(this.clients.acknowledged, hasOnly(this.options.faults));
    if (this.scheduler.failure !== null) throw this.scheduler.failure;
    return true;
  }

  /** A process that can be called, or null when there is none now. */
  anyProcess(): Process | null {
    const alive = this.processes.filter((process) => !process.dead && !process.stopping);
    return alive.length === 0 ? null : this.random.pick(alive);
  }

  #prepare(): void {
    const { options, scheduler } = this;
    const { stormMs } = options;
    for (const [n, settings] of options.queues.entries()) {
      const queue = this.tables.addQueue({
        ...settings,
        accountId: ACCOUNT.id,
        name: `queue-${n}`,
        webhookUrl: 'http://127.0.0.1:9/',
        deletedAt: null,
        probeJobId: null,
        windowStart: null,
        windowUsed: 0,
        holdUntil: n === 0 && options.heldMs > 0 ? START + options.heldMs : null,
        pausedAt: null,
        lifetimeFloor: null,
        breaker: breakerOf(options.breakers[n]),
      });
      this.checker.queue(queue.id);
    }
    for (let n = 0; n < options.processes; n += 1) this.startProcess(n * 100);
    for (let n = 0; n < options.jobs; n += 1) {
      scheduler.at(this.random.next() * stormMs, null, 'a client publishes', () => this.clients.publish(n));
    }
    this.#storm.plan();
    scheduler.at(stormMs, null, 'the storm is over', () => this.#heal());
  }

  /** Starts one more process, within so many milliseconds. */
  startProcess(inMs: number): void {
    const { options, scheduler, server } = this;
    const believesInSocket = this.#planted.believesInSocket ?? false;
    const { capacity, webhookTimeoutMs, lifetimeMs, reconciler } = options;
    const process = new Process({
      scheduler,
      server,
      workerId: this.processes.length + 1,
      capacity,
      webhookTimeoutMs,
      lifetimeMs,
      reconciler,
      believesInSocket,
      senderOf: (sending) => this.receiver.senderOf(sending),
      hasBreaker: (queueId) => hasBreaker(this.tables.queues.get(queueId)?.breaker),
      callOthers: (caller, queueId, reason) => {
        for (const other of this.processes) {
          if (other === caller || other.dead || !server.isUp || this.random.chance(this.lostWakeUps)) continue;
          scheduler.after(this.random.next() * 20, other, 'is called', () => other.dispatcher.wake(queueId, reason));
        }
      },
    });
    this.processes.push(process);
    scheduler.after(this.random.next() * inMs, process, 'starts', () => process.start());
    if (!server.isUp) {
      process.notesSilence();
      process.lock.serverLosesIt();
    }
  }

  #asked(name: string, values: unknown[], process: Process): void {
    const { now } = this.scheduler;
    this.checker.onAsk(name, values, process, now);
    // The first statement of `takeBack`: its sender has just concluded that these workers are dead.
    if (name !== 'stored-jobs-of-workers') return;
    for (const id of values[0] as number[]) this.checker.onDeclaredDead(id, this.processes[id - 1], now);
  }

  #committed(name: string, values: unknown[], rows: object[], process: Process): void {
    this.checker.onCommit(name, values, rows, process);
    if (name === 'claim' && this.tables.before.size > 0) this.#storm.thawRivals(process);
    const isPoisoned = this.options.faults.strikes === 1;
    const isWork = name === 'claim' || name === 'settle' || name === 'publish';
    if (isWork && !isPoisoned && !process.dead) this.#storm.strike(process, 50);
  }

  #arrived(arrival: Arrival): void {
    this.checker.onArrival(arrival, this.options.webhookTimeoutMs);
    this.#storm.strike(arrival.process, this.options.thinkMs);
  }

  #answered(arrival: Arrival, answer: Answer): void {
    this.checker.onAnswer(arrival, answer);
    if (answer.statusCode !== null && answer.statusCode >= 200 && answer.statusCode < 300)
      this.clients.accepted(arrival);
  }

  #heal(): void {
    const { options, server, scheduler } = this;
    this.#isHealed = true;
    server.faults = { brokenStatements: 0, stalledStatements: 0, deadlocks: 0 };
    server.latencyMs = Math.min(server.latencyMs, 20);
    server.isUp = true;
    this.shiftClock(0);
    this.receiver.behaviour = HEALTHY;
    Object.assign(this.#path, { connectMs: Math.min(20, options.connectMs), thinkMs: Math.min(100, options.thinkMs) });
    if (this.anyProcess() === null) this.startProcess(0);
    if (options.actions.pauses > 0) this.#storm.endPauses();
    const now = this.tables.clock();
    let longestWait = this.#storm.thawedBy - scheduler.now;
    for (const queue of this.tables.queues.values()) {
      const { backoffDelay, maxAttempts, rateLimitMax, rateLimitWindow, ackTimeout } = queue;
      const backoff = backoffDelay * 2 ** maxAttempts * 1000;
      const windows = rateLimitMax === null ? 0 : (options.jobs / rateLimitMax + 1) * rateLimitWindow * 1000;
      const hold = Math.min((queue.holdUntil ?? now) - now, 2 * options.lifetimeMs);
      longestWait = Math.max(longestWait, backoff + windows + hold + ackTimeout * 1000);
    }
    for (const job of this.tables.jobs.values()) {
      if (job.status === 'pending') longestWait = Math.max(longestWait, job.scheduledFor - now);
      if (job.deadline !== null) longestWait = Math.max(longestWait, job.deadline - now);
    }
    this.#endBy = scheduler.now + longestWait + RECOVERY_MS + options.jobs * 1000;
  }
}
