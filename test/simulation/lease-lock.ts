import type { Server } from './connection.ts';
import type { Host, Scheduler } from './scheduler.ts';

/** As in `worker/lease/liveness`. */
const CONFIRM_EVERY_MS = 500;
const ANSWER_MS = 1000;
const CONFIRMED_FOR_MS = 2000;
const TAKEN_BACK_AFTER_MS = 3000;
const RETRY_MS = 250;
const RECOVERY_MS = { atStart: 1600, afterLoss: 5500 };

/**
 * The state of the connection that the lock is on. `client-gone`: the process knows, and the server does not.
 * `server-gone`: the server knows, and the process does not. `black-hole`: neither knows.
 */
type Line = 'open' | 'server-gone' | 'client-gone' | 'black-hole';

/**
 * A process's lease lock and what the process knows of it. It models `worker/lease/liveness` and
 * `db/delivery/lease-locks`, which need sockets: it queries repeatedly, trusts confirmations only, and takes the lock
 * again on another connection. test/worker/liveness.test.ts tests the real code on a real server.
 */
export class LeaseLock {
  /** When the server lost it; null while it has it. */
  lostAt: number | null = null;
  readonly #host: Host & { readonly workerId: number };
  readonly #scheduler: Scheduler;
  readonly #server: Server;
  /** A planted bug: the process takes an open socket for a held lock. */
  readonly #believesInSocket: boolean;
  readonly #onConfirmedAgain: () => void;
  /** Whether its connection was ever lost without the database having gone. */
  everSilenced = false;
  #line: Line = 'open';
  #heldSince: number;
  /** A moment of simulated time, as the process's own monotonic clock counts it. */
  #confirmedAt: number;
  #isLost = false;
  /** As `Liveness.recoveringUntil`, of simulated time. */
  #recoveringUntil: number;
  #asking = 0;

  constructor(setup: {
    host: Host & { readonly workerId: number };
    scheduler: Scheduler;
    server: Server;
    believesInSocket: boolean;
    onConfirmedAgain: () => void;
  }) {
    this.#host = setup.host;
    this.#scheduler = setup.scheduler;
    this.#server = setup.server;
    this.#believesInSocket = setup.believesInSocket;
    this.#onConfirmedAgain = setup.onConfirmedAgain;
    this.#confirmedAt = setup.scheduler.now;
    this.#heldSince = setup.scheduler.now;
    this.#recoveringUntil = setup.scheduler.now + RECOVERY_MS.atStart;
    this.#serverHasIt();
    this.#askLater();
  }

  /** Whether the process may claim, as far as it knows. */
  get confirmed(): boolean {
    if (this.#believesInSocket) return this.#line !== 'client-gone';
    return this.hasReason;
  }

  /** Whether the server's last answer allows it to claim. */
  get hasReason(): boolean {
    return !this.#isLost && this.#scheduler.now - this.#confirmedAt < CONFIRMED_FOR_MS;
  }

  /** By the process's own clock. */
  get recoveringUntil(): number {
    return this.#host.clockOrigin + this.#recoveringUntil;
  }

  get workerId(): number {
    return this.#host.workerId;
  }

  /** Without effect, unlike `Liveness.wasNotSeen`: here a process learns of a lost lock only by its own queries. */
  wasNotSeen(): void {}

  /** @param claimedAt of the process's own clock */
  covers(claimedAt: number): boolean {
    return this.#believesInSocket || (this.confirmed && claimedAt - this.#host.clockOrigin >= this.#heldSince);
  }

  /** As `Liveness.stillHolds`. @param claimedAt of the process's own clock */
  stillHolds(claimedAt: number): boolean {
    if (this.#believesInSocket) return true;
    const isCovered = claimedAt - this.#host.clockOrigin >= this.#heldSince;
    return isCovered && this.#scheduler.now - this.#confirmedAt < TAKEN_BACK_AFTER_MS;
  }

  /** The connection dies, and one or both ends do not notice. */
  silence(line: Exclude<Line, 'open'>): void {
    if (this.#host.dead || this.#line !== 'open') return;
    this.#line = line;
    this.everSilenced = true;
    if (line === 'server-gone') this.serverLosesIt();
    if (line === 'client-gone')
      this.#scheduler.after(0, this.#host, 'sees its lock connection end', () => this.#lose());
  }

  /** The server drops the session: it, or its machine, or the process is gone. */
  serverLosesIt(): void {
    if (this.#line === 'open') this.#line = 'server-gone';
    if (this.#server.tables.leaseLocks.delete(this.#host.workerId)) this.lostAt = this.#scheduler.now;
  }

  /** The process ends. A server that does not notice keeps the lock until its lease ends, or for ever. */
  processEnds(): void {
    const isTold = this.#line === 'open' || this.#line === 'server-gone';
    if (isTold) this.serverLosesIt();
  }

  #askLater(): void {
    this.#scheduler.after(CONFIRM_EVERY_MS, this.#host, 'asks about its lock', () => this.#ask());
  }

  #ask(): void {
    if (this.#isLost) return;
    const asked = this.#scheduler.now;
    this.#asking += 1;
    const asking = this.#asking;
    const { latencyMs } = this.#server;
    const after = (ms: number, what: string, run: () => void) =>
      this.#scheduler.after(ms, this.#host, what, () => {
        if (asking === this.#asking && !this.#isLost) run();
      });
    // On a dead connection no answer comes.
    after(ANSWER_MS, 'has no answer about its lock', () => {
      if (this.#believesInSocket) this.#askLater();
      else this.#lose();
    });
    if (this.#line !== 'open' || !this.#server.isUp) return;
    const { epoch } = this.#server;
    after(this.#scheduler.random.next() * latencyMs, 'gets the confirmation of its lock', () => {
      if (this.#line !== 'open' || epoch !== this.#server.epoch) return;
      this.#asking += 1;
      if (!this.#server.tables.leaseLocks.has(this.#host.workerId)) return this.#lose();
      this.#serverHasIt();
      // As of a process that rests. Here it may also have claims, which must make no difference.
      if (asking % 5 === 0) this.#server.tables.confirmations.delete(this.#host.workerId);
      const was = this.confirmed;
      this.#confirmedAt = asked;
      if (!was && this.confirmed) this.#onConfirmedAgain();
      this.#askLater();
    });
  }

  /** The server has the lock, and stores the time of this confirmation. */
  #serverHasIt(): void {
    const { tables } = this.#server;
    tables.leaseLocks.add(this.#host.workerId);
    tables.confirmations.set(this.#host.workerId, tables.clock());
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#takeAgain();
  }

  /** On another connection; a shared lock, so an old session that the server still keeps is not in the way. */
  #takeAgain(): void {
    const { random } = this.#scheduler;
    const asked = this.#scheduler.now;
    this.#scheduler.after(RETRY_MS + random.next() * this.#server.latencyMs, this.#host, 'takes its lock again', () => {
      if (!this.#server.isUp) return this.#takeAgain();
      const { now } = this.#scheduler;
      this.#serverHasIt();
      this.lostAt = null;
      this.#recoveringUntil = now + RECOVERY_MS.afterLoss;
      if (now - this.#confirmedAt >= CONFIRMED_FOR_MS) this.#heldSince = now;
      this.#confirmedAt = asked;
      this.#line = 'open';
      this.#isLost = false;
      this.#onConfirmedAgain();
      this.#askLater();
    });
  }
}
