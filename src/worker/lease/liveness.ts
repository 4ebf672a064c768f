import { setTimeout as sleep } from 'node:timers/promises';
import type { Listener } from '../../db/connection/notifications.ts';
import {
  DEAD_CHANNEL,
  type LeaseLock,
  type LeaseLockOptions,
  namesWorker,
  SILENT_SECONDS,
  takeLeaseLock,
} from '../../db/delivery/lease-locks.ts';
import { HELD_UP_MS } from '../../pacing/decide-after.ts';
import { untilSuccess } from '../../pacing/retry.ts';
import type { Logger } from '../../telemetry/log.ts';
import { elapsedMs, type Moment, thisMoment } from '../moment.ts';

/*
 * The time limits (docs/decisions/0011). The server drops the lock at a moment T, and the process does not notice it.
 *   The process stops claiming by T + 2 s: its last confirmed query was sent before T (CONFIRMED_FOR_MS).
 *   The process holds the lock again by T + 1.6 s: it queries every 0.5 s, waits 1 s, and reconnects (CONFIRM_EVERY_MS,
 *   REPLY_MS).
 *   Other workers take back its claims at the earliest 3 s after the last confirmation, which is stored in the
 *   database. Without a stored confirmation they take them back at T + 3 s (worker/lease/lock-watch).
 *   So until then a request of a claim may still be written (TAKEN_BACK_AFTER_MS).
 *   The claims of a killed worker are taken back by T + 4 s.
 */
const CONFIRM_EVERY_MS = 500;
/**
 * Interval of the confirmations while the process rests. It claims nothing before the next one, which it requests when
 * it is woken.
 */
const CONFIRM_AT_REST_MS = 5000;
const REPLY_MS = 1000;
const CONFIRMED_FOR_MS = 2000;
const TAKEN_BACK_AFTER_MS = SILENT_SECONDS.least * 1000;

const RETRY_MS = 250;
/**
 * The event that made this process take its lock may have cost other workers theirs, as the restart of a proxy does.
 * For so long after it, absent locks prove nothing. After a loss, another worker's attempt that began while nothing
 * answered may last 5 s.
 */
const RECOVERY_MS = { atStart: 1600, afterLoss: 5500 };
/** Time limits for each step of taking the lock, in turn. Every third try is longer, for a very busy server. */
const TAKE_MS = [2000, 2000, 5000];
const TAKEN_BACK = 'another worker has taken back our claims';
/** Interval of warnings in the log while the lock cannot be taken again. */
const WARN_EVERY_MS = 5000;

interface LivenessOptions extends LeaseLockOptions {
  log: Logger;
  /** The process's listener, not yet started. */
  listener: Listener;
  /** Called when the lock is confirmed again after a time without claims. */
  onConfirmedAgain(): void;
  /** Whether the process has had no claims for some time. */
  isResting(): boolean;
}

interface Loss {
  reason: string;
  /** Message of the driver, for the log. */
  error?: string;
}

/**
 * Holds this process's worker number and its lease lock, which the server must confirm repeatedly. Without a recent
 * confirmation the process must not claim, because other workers may take back its claims. A lost lock is taken again
 * under the same number.
 */
export class Liveness {
  readonly workerId: number;
  readonly #options: LivenessOptions;
  #lock: LeaseLock;
  /** The `performance.now()` at which the present connection got the lock. */
  #takenAt: number;
  #recoveringUntil: number;
  /** The `performance.now()` since which other workers had no chance to take back claims of this process. */
  #heldSince: number;
  /** When the last confirmed query was sent. */
  #confirmed: Moment;
  /** The server's error when it has the lock but cannot store the confirmation; null while it can. */
  #unwritable: string | null = null;
  /** The `performance.now()` at which the process was last woken from a rest. */
  #wokenAt = Number.NEGATIVE_INFINITY;
  /** Why the lock counts as lost, for the public readiness report; null while it does not. */
  #problem: string | null = null;
  readonly #stopping = new AbortController();
  /** Ends the pause of the loop. */
  #interrupt: () => void = () => undefined;
  #waiting: (() => void)[] = [];

  private constructor(options: LivenessOptions, lock: LeaseLock, sentAt: Moment) {
    this.#options = options;
    this.#lock = lock;
    this.#confirmed = sentAt;
    this.#takenAt = performance.now();
    this.#recoveringUntil = this.#takenAt + RECOVERY_MS.atStart;
    this.#heldSince = this.#takenAt;
    this.workerId = lock.workerId;
    void this.#keepUp();
  }

  static async start(options: LivenessOptions): Promise<Liveness> {
    const sentAt = thisMoment();
    const lock = await takeLeaseLock(options, null, Math.max(...TAKE_MS));
    if (typeof lock.confirmation === 'object') {
      lock.drop();
      throw new Error(`the lease lock cannot be confirmed: ${lock.confirmation.unwritable}`);
    }
    const liveness = new Liveness(options, lock, sentAt);
    options.listener.subscribe({
      channels: {
        [DEAD_CHANNEL]: (message) => {
          if (namesWorker(message, lock.workerId)) liveness.doubt(TAKEN_BACK);
        },
      },
    });
    return liveness;
  }

  /** Whether the server has confirmed the lock recently. The process may claim only then. */
  get confirmed(): boolean {
    return this.#problem === null && elapsedMs(this.#confirmed) < CONFIRMED_FOR_MS;
  }

  /** The `performance.now()` until which other workers may still be taking their locks again. */
  get recoveringUntil(): number {
    return this.#recoveringUntil;
  }

  /** For operators: why the process does not claim; null while the lock is confirmed, or the process rests. */
  get problem(): string | null {
    if (this.confirmed) return null;
    return this.#problem ?? this.#unwritable ?? (this.#mayAnswer ? null : 'the server does not answer');
  }

  /**
   * Whether the server may still answer: the process rests, or was woken a moment ago, and the last confirmation is not
   * older than a rest allows.
   */
  get #mayAnswer(): boolean {
    const isLate = elapsedMs(this.#confirmed) >= CONFIRM_AT_REST_MS + CONFIRMED_FOR_MS;
    return !isLate && (this.#options.isResting() || performance.now() - this.#wokenAt < REPLY_MS);
  }

  /**
   * Call when the process has been woken from a rest: it asks for its lock,
   * and can claim when the server has confirmed it.
   */
  wakeUp(): void {
    this.#wokenAt = performance.now();
    if (!this.confirmed) this.#interrupt();
  }

  /**
   * Whether the deliveries of a claim that was sent at `claimedAt` may start: the lock must have been held since then.
   * If the last confirmation is too old to decide, it waits for the next one.
   */
  async covers(claimedAt: number): Promise<boolean> {
    if (!this.confirmed && claimedAt >= this.#heldSince) await this.#nextConfirmation();
    return this.confirmed && claimedAt >= this.#heldSince;
  }

  /**
   * Whether no other worker can have taken back a claim that was sent at `claimedAt`. A request is written only then:
   * the process may have been suspended since `covers`.
   */
  stillHolds(claimedAt: number): boolean {
    return claimedAt >= this.#heldSince && elapsedMs(this.#confirmed) < TAKEN_BACK_AFTER_MS;
  }

  /** An outcome was refused although the lease had not ended. If the lock seemed held since the claim, it was not. */
  wasRefused(claimedAt: number): void {
    if (claimedAt >= this.#heldSince) this.doubt('an outcome was refused, so our claims were taken back');
  }

  /** A query that was sent at `since` to the server that receives the claims did not find the lock there. */
  wasNotSeen(since: number): void {
    if (this.confirmed && since >= this.#takenAt) this.doubt('the server that claims go to does not have it');
  }

  /**
   * Treats the lock as lost, even if the server confirms it. The process claims again once it has taken the lock again.
   */
  doubt(reason: string): void {
    if (this.#problem !== null || this.#stopping.signal.aborted) return;
    this.#problem = reason;
    this.#heldSince = performance.now();
    this.#lock.drop();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#interrupt();
    this.#resolveWaiting();
    await this.#lock.release();
  }

  async #keepUp(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const lost = await this.#untilLost(this.#lock);
      if (this.#stopping.signal.aborted) return;
      this.#problem ??= lost.reason;
      const fields = { workerId: this.workerId, reason: this.#problem, error: lost.error };
      this.#options.log.warn(fields, 'lease lock lost: claiming stops until it is held again');
      this.#lock.drop();
      await this.#renew();
    }
  }

  /** Queries until the lock is not confirmed any more; resolves with the reason. */
  async #untilLost(lock: LeaseLock): Promise<Loss> {
    let loss: Loss | null = null;
    void lock.lost.then((error) => {
      loss = { reason: 'its connection was lost', error };
      this.#interrupt();
    });
    for (;;) {
      await this.#wait(this.#options.isResting() ? CONFIRM_AT_REST_MS : CONFIRM_EVERY_MS);
      if (loss !== null || this.#stopping.signal.aborted) return loss ?? { reason: 'stopped' };
      const sentAt = thisMoment();
      const reply = await within(REPLY_MS, lock.confirm(this.#options.isResting())).catch(
        (error: unknown): Loss => ({ reason: 'the query to the server failed', error: String(error) }),
      );
      if (reply === null) return { reason: `no answer within ${REPLY_MS} ms` };
      if (reply === 'gone') return { reason: 'the server does not have it any more' };
      if (reply === 'confirmed') this.#isConfirmed(sentAt);
      else if ('unwritable' in reply) this.#isUnwritable(reply.unwritable);
      else return loss ?? reply;
    }
  }

  #isUnwritable(reason: string): void {
    if (this.#unwritable === null) {
      this.#options.log.warn({ workerId: this.workerId, reason }, 'the lease lock cannot be confirmed: claiming stops');
    }
    this.#unwritable = reason;
  }

  #isConfirmed(sentAt: Moment): void {
    this.#unwritable = null;
    if (this.#problem !== null) return;
    const wasConfirmed = this.confirmed;
    this.#confirmed = sentAt;
    this.#resolveWaiting();
    if (!wasConfirmed && this.confirmed) this.#options.onConfirmedAgain();
  }

  async #renew(): Promise<void> {
    const { log } = this.#options;
    let warnedAt = performance.now();
    const take = async (failures: number) => {
      const sentAt = thisMoment();
      const timeoutMs = TAKE_MS[failures % TAKE_MS.length] ?? 0;
      return { sentAt, lock: await takeLeaseLock(this.#options, this.#lock, timeoutMs) };
    };
    const taken = await untilSuccess(take, {
      signal: this.#stopping.signal,
      waitMs: () => RETRY_MS,
      onFailure: (error) => {
        const isDue = performance.now() - warnedAt >= WARN_EVERY_MS;
        if (isDue) warnedAt = performance.now();
        log[isDue ? 'warn' : 'debug']({ err: error }, 'the lease lock cannot be taken again yet');
      },
    });
    if (taken !== null) this.#isHeldAgain(taken.lock, taken.sentAt);
  }

  #isHeldAgain(lock: LeaseLock, sentAt: Moment): void {
    this.#lock = lock;
    if (this.#stopping.signal.aborted) return void lock.release();
    const goneMs = Math.round(elapsedMs(this.#confirmed));
    this.#takenAt = performance.now();
    this.#recoveringUntil = this.#takenAt + RECOVERY_MS.afterLoss;
    if (goneMs >= CONFIRMED_FOR_MS) this.#heldSince = this.#takenAt;
    this.#problem = null;
    this.#options.log.info({ workerId: this.workerId, goneMs }, 'lease lock held again');
    if (typeof lock.confirmation === 'object') {
      this.#isUnwritable(lock.confirmation.unwritable);
      return;
    }
    this.#unwritable = null;
    this.#confirmed = sentAt;
    this.#resolveWaiting();
    this.#options.onConfirmedAgain();
  }

  /** Resolves with the next confirmation, or after the longest time that it may take. */
  #nextConfirmation(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, CONFIRM_EVERY_MS + REPLY_MS);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #resolveWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#interrupt = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** @returns the reply, or null when there is none in time */
async function within<T>(ms: number, reply: Promise<T>): Promise<T | null> {
  const ended = new AbortController();
  const { signal } = ended;
  const late = async () => {
    const startedAt = performance.now();
    await sleep(ms, undefined, { signal });
    // Held up: the reply may have arrived, but not been read yet.
    if (performance.now() - startedAt > ms + HELD_UP_MS) await sleep(HELD_UP_MS, undefined, { signal });
    return null;
  };
  try {
    return await Promise.race([reply, late()]);
  } finally {
    ended.abort();
  }
}
