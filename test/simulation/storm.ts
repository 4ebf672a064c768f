import { RENEW_BREAKER } from '../../src/db/queues/breaker.ts';
import { pauseQueue, resumeQueue } from '../../src/db/queues/operations.ts';
import { deleteQueue } from '../../src/db/queues/queues.ts';
import { authorOf } from '../../src/domain/account.ts';
import type { JobRow, QueueRow } from './model/tables.ts';
import { expand, hasOnly } from './options.ts';
import { ACCOUNT, type Process } from './process.ts';
import type { Simulation } from './simulation.ts';

/** The faults of processes and of the database, and the clients' changes of queues meanwhile. */
export class Storm {
  /** The last freeze ends then; it may outlast the storm. */
  thawedBy = 0;
  readonly #simulation: Simulation;
  readonly #reached: (state: string) => void;
  #crashesLeft: number;
  #freezesLeft: number;

  constructor(simulation: Simulation, reached: (state: string) => void) {
    this.#simulation = simulation;
    this.#reached = reached;
    this.#crashesLeft = simulation.options.faults.crashes;
    this.#freezesLeft = simulation.options.faults.freezes;
  }

  /** Each at some moment of the storm. */
  plan(): void {
    const { scheduler, random, options, clients } = this.#simulation;
    const { stormMs, faults, actions } = options;
    const times = (count: number, label: string, run: () => void) => {
      for (let n = 0; n < count; n += 1) scheduler.at(random.next() * stormMs, null, label, run);
    };
    times(faults.crashes, 'a process crashes', () => this.#crashAny());
    times(faults.freezes, 'a process freezes', () => this.#freezeAny());
    times(faults.silences, 'a lease lock falls silent', () => this.#silence());
    times(faults.failovers, 'another server takes over', () => this.#failOver());
    times(faults.suspensions, 'a process is suspended', () => this.#suspend());
    times(faults.databaseRestarts, 'the database goes', () => this.#restartDatabase());
    times(faults.clockJumps, 'the clock jumps', () => this.#jump());
    times(faults.stops, 'a process is stopped', () => this.#stopAny());
    times(actions.pauses, 'a client pauses', () => this.#pause());
    times(actions.edits, 'a client edits', () => this.#edit());
    times(actions.moves, 'a client sets another webhook', () => this.#move());
    times(actions.deletions, 'a client deletes', () => this.#delete());
    times(actions.cancels, 'a client cancels', () => clients.cancel());
    times(actions.runNows, 'a client runs a job now', () => clients.runNow());
  }

  /** Crashes and freezes come at random times or, mostly, while a statement or a delivery runs. */
  strike(process: Process, withinMs: number): void {
    const { scheduler, random, options, isHealed } = this.#simulation;
    const { strikes } = options.faults;
    if (isHealed || !random.chance(strikes)) return;
    const crashes = random.chance(this.#crashesLeft / Math.max(1, this.#crashesLeft + this.#freezesLeft));
    const inMs = strikes === 1 || random.chance(0.5) ? 0 : random.next() * withinMs;
    if ((crashes ? this.#crashesLeft : this.#freezesLeft) <= 0) return;
    scheduler.after(inMs, null, `${process.name} ${crashes ? 'crashes' : 'freezes'}`, () => {
      if (crashes) this.#crash(process);
      else this.#freeze(process);
    });
  }

  /** The worst moment to wake up: another process has just claimed the jobs of a frozen one. */
  thawRivals(claimant: Process): void {
    const { scheduler, random, processes } = this.#simulation;
    for (const process of processes) {
      if (process === claimant || !process.frozen || !random.chance(0.4)) continue;
      scheduler.after(random.next() * 20, null, `${process.name} thaws`, () => this.#thaw(process));
    }
  }

  /** At the end of the faults: resumes all queues, also those whose pause is still on its way. */
  endPauses(rounds = 6): void {
    const { scheduler, tables } = this.#simulation;
    const isPaused = ({ pausedAt, deletedAt }: QueueRow) => pausedAt !== null && deletedAt === null;
    const paused = [...tables.queues.values()].filter(isPaused);
    for (const queue of paused) this.#resume(queue.id);
    if (rounds > 0 || paused.length > 0) scheduler.after(1000, null, 'no pauses', () => this.endPauses(rounds - 1));
  }

  #crashAny(): void {
    const process = this.#simulation.anyProcess();
    if (process !== null && this.#simulation.random.chance(0.3)) this.#crash(process);
  }

  #crash(process: Process): void {
    const { scheduler, random, options, isHealed } = this.#simulation;
    if (process.dead || isHealed || this.#crashesLeft <= 0) return;
    this.#crashesLeft -= 1;
    this.#noteWhatIsHit(process);
    process.kill();
    if (options.faults.strikes < 1 && random.chance(0.3)) return;
    scheduler.after(random.next() * 1500, null, 'a new process comes', () => this.#simulation.startProcess(0));
  }

  #noteWhatIsHit(process: Process): void {
    const claimed = this.#claimsOf(process);
    if (claimed.length > 0) this.#reached('a crash while a delivery is running');
    const isProbe = ({ id, queueId }: JobRow) => this.#simulation.checker.queue(queueId).probe === id;
    if (claimed.some(isProbe)) this.#reached('a crash while the probe is in flight');
    if (process.frozen) this.#reached('a frozen process is killed');
    if (process.stopping) this.#reached('a stopping process is killed');
  }

  #claimsOf({ workerId }: Process): JobRow[] {
    return [...this.#simulation.tables.jobs.values()].filter((job) => job.workerId === workerId);
  }

  #freezeAny(): void {
    const process = this.#simulation.anyProcess();
    if (process !== null && this.#simulation.random.chance(0.3)) this.#freeze(process);
  }

  #freeze(process: Process): void {
    const { scheduler, random, options, isHealed } = this.#simulation;
    if (process.dead || process.frozen || isHealed || this.#freezesLeft <= 0) return;
    this.#freezesLeft -= 1;
    const ms = random.next() * options.faults.freezeLeases * process.leaseMs;
    if (ms > process.leaseMs && this.#claimsOf(process).length > 0) this.#reached('a freeze longer than the lease');
    scheduler.freeze(process);
    this.thawedBy = Math.max(this.thawedBy, scheduler.now + ms);
    scheduler.after(ms, null, `${process.name} thaws`, () => this.#thaw(process));
  }

  #thaw(process: Process): void {
    if (process.frozen && !process.dead) this.#simulation.scheduler.thaw(process);
  }

  #silence(): void {
    const { random, processes } = this.#simulation;
    const line = random.pick(['server-gone', 'client-gone', 'black-hole'] as const);
    const one = this.#simulation.anyProcess();
    // All at the same time, as when the database's host is gone.
    const struck = random.chance(0.4) ? processes.filter(({ dead }) => !dead) : one === null ? [] : [one];
    for (const process of struck) {
      process.notesSilence();
      process.lock.silence(line);
    }
    this.#reached(`${struck.length > 1 ? 'all lease locks fall' : 'a lease lock falls'} silent: ${line}`);
  }

  #failOver(): void {
    const { server, processes } = this.#simulation;
    if (!server.isUp) return;
    for (const process of processes) {
      process.notesSilence();
      process.lock.serverLosesIt();
    }
    server.failOver();
    this.#reached('another server takes over');
  }

  #jump(): void {
    const { scheduler, random } = this.#simulation;
    if (this.#simulation.isHealed || this.#simulation.clockShiftMs !== 0) return;
    const ms = random.pick([-60_000, 60_000]);
    this.#simulation.shiftClock(ms);
    this.#reached(`the clock jumps ${ms > 0 ? 'ahead' : 'back'}`);
    scheduler.after(random.next() * 3000, null, 'the clock is right again', () => {
      this.#simulation.shiftClock(0);
    });
  }

  /** As `#freeze`, but the process gets no error from its broken connections. */
  #suspend(): void {
    const { scheduler, random } = this.#simulation;
    const process = this.#simulation.anyProcess();
    if (process === null || process.frozen) return;
    const ms = process.leaseMs * (1 + random.next());
    scheduler.freeze(process);
    this.thawedBy = Math.max(this.thawedBy, scheduler.now + ms);
    scheduler.after(random.next() * 2000, null, `the server ends the session of ${process.name}`, () => {
      process.notesSilence();
      process.lock.serverLosesIt();
    });
    scheduler.after(ms, null, `${process.name} goes on`, () => this.#thaw(process));
    if (this.#claimsOf(process).length > 0) this.#reached('a process is suspended past its lease');
  }

  #restartDatabase(): void {
    const { scheduler, random, server, processes } = this.#simulation;
    if (!server.isUp) return;
    for (const process of processes) {
      if (process.dead) continue;
      process.notesSilence();
      process.lock.serverLosesIt();
    }
    server.restart({ isCrash: random.chance(0.5) });
    scheduler.after(random.pick([50, 500, 3000, 8000]) * random.next(), null, 'the database is back', () => {
      server.isUp = true;
      this.#simulation.checker.onDatabaseBack(scheduler.now);
    });
  }

  #stopAny(): void {
    const { scheduler, options } = this.#simulation;
    const process = this.#simulation.anyProcess();
    if (process === null) return;
    // An event of its own, so that what it does is the process's doing.
    scheduler.after(0, process, 'is told to stop', () => {
      this.#simulation.startProcess(500);
      if (process.dispatcher.inFlight > 0) this.#reached('a process stops while deliveries are running');
      process.stop(() => {
        const mayLeave = !hasOnly(options.faults, 'stops', 'lostWakeUps', 'doubledWakeUps');
        if (mayLeave || this.#claimsOf(process).length === 0) return;
        this.#simulation.violated('F-23 Stop', `${process.name} has stopped and left a claim`);
      });
    });
  }

  #anyQueue(): QueueRow {
    return this.#simulation.random.pick([...this.#simulation.tables.queues.values()]);
  }

  #pause(): void {
    const { scheduler, random, options } = this.#simulation;
    const process = this.#simulation.anyProcess();
    const { id } = this.#anyQueue();
    if (process === null) return;
    scheduler.after(0, process, `pauses ${id}`, () => {
      if (!this.#simulation.isHealed) pauseQueue(process.db, authorOf(ACCOUNT), id).catch(ignored);
    });
    if (random.chance(0.3)) return;
    scheduler.after(random.skewed(options.stormMs), null, 'a client resumes', () => this.#resume(id));
  }

  #resume(queueId: string): void {
    const { scheduler, options } = this.#simulation;
    const process = this.#simulation.anyProcess();
    if (process === null) return;
    scheduler.after(0, process, `resumes ${queueId}`, () => {
      const wake = () => process.dispatcher.wake(queueId);
      resumeQueue(process.db, authorOf(ACCOUNT), queueId, options.lifetimeMs).then(wake, ignored);
    });
  }

  /** Settings of another sequence. */
  #edit(): void {
    const { random, tables, checker } = this.#simulation;
    const queue = this.#anyQueue();
    const [other] = expand(random.int(1, 1e9)).queues;
    if (other === undefined) return;
    const { concurrency, rateLimitMax, dlqEnabled, maxDefers, mode, ackTimeout } = other;
    Object.assign(queue, { concurrency, rateLimitMax, dlqEnabled, maxDefers, mode, ackTimeout });
    checker.queue(queue.id).wasEdited(tables.inFlight(queue.id));
    tables.wake('deliver', queue.id, tables.clock());
  }

  /** Another webhook, for which the next probe of an open breaker is due. */
  #move(): void {
    const { scheduler } = this.#simulation;
    const process = this.#simulation.anyProcess();
    const { id } = this.#anyQueue();
    if (process === null) return;
    scheduler.after(0, process, `moves ${id}`, () => {
      if (this.#simulation.isHealed) return;
      process.db.query(RENEW_BREAKER, [id]).then(() => process.dispatcher.wake(id, 'change'), ignored);
    });
  }

  #delete(): void {
    const { scheduler, tables } = this.#simulation;
    const process = this.#simulation.anyProcess();
    const { id } = this.#anyQueue();
    if (process === null) return;
    if (tables.inFlight(id) > 0) this.#reached('a queue is deleted while jobs are in flight');
    scheduler.after(0, process, `deletes ${id}`, () => {
      deleteQueue(process.db, authorOf(ACCOUNT), id).then(() => process.dispatcher.wake(id), ignored);
    });
  }
}

function ignored(): void {
  // The client gets "unavailable", and may send the request again.
}
