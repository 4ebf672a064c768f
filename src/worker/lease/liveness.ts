import { setTimeout as sleep } from 'node:timers/promises';
import type { Listener } from '../../db/connection/notifications.ts';
import {
  DEAD_CHANNEL,
  type LeaseLock,
  type LeaseLockOptions,
  namesWorker,
  takeLeaseLock,
} from '../../db/delivery/lease-locks.ts';
import type { Logger } from '../../log.ts';
import { untilSuccess } from '../../pacing/retry.ts';
import { elapsedMs, type Moment, thisMoment } from '../moment.ts';

/*
 * The arithmetic (docs/decisions/0011). The lock goes at a moment T at which the process does not notice it.
 *   It stops claiming by T + 2 s: its last question that was answered "yes" was sent before T (CONFIRMED_FOR_MS).
 *   It has the lock again by T + 1.6 s: it asks every 0.5 s, waits 1 s, and connects (CONFIRM_EVERY_MS, ANSWER_MS).
 *   Others take back its claims 3 s after that "yes" at the earliest, which the server has noted; where it knows of none,
 *   at T + 3 s (worker/death-watch). A killed worker's by T + 4 s.
 */
const CONFIRM_EVERY_MS = 500;
const ANSWER_MS = 1000;
const CONFIRMED_FOR_MS = 2000;

/** A timer that fires so late says that this process was held up: the answer may be there and not yet read. */
const HELD_UP_MS = 250;
const RETRY_MS = 250;
/** For each step of taking the lock. Every third attempt has the patience that a very busy server needs. */
const TAKE_MS = [2000, 2000, 5000];
const TAKEN_BACK = 'another worker has taken back our claims';
/** How often the log says that the lock could not be taken again. */
const COMPLAIN_EVERY_MS = 5000;

export interface LivenessOptions extends LeaseLockOptions {
  log: Logger;
  /** Of the process; not yet started. */
  listener: Listener;
  /** The lock is confirmed again, after a while in which nothing could be claimed. */
  onConfirmedAgain(): void;
}

interface Loss {
  reason: string;
  /** What the driver said, for the log. */
  error?: string;
}

/**
 * This process's number and its lease lock, which the server must confirm again and again. Without a recent "yes"
 * nothing may be claimed, because others may take back whatever this process claims. A lock that is lost is taken
 * again under the same number.
 */
export class Liveness {
  readonly workerId: number;
  readonly #options: LivenessOptions;
  #lock: LeaseLock;
  /** Of `performance.now()`, when the present connection got the lock. */
  #takenAt: number;
  /** Of `performance.now()`: since then there was no gap in which others could have taken back claims. */
  #heldSince: number;
  /** When the last question was sent to which the server said "yes". */
  #confirmed: Moment;
  /** What the server said when it had the lock and could not note it; null while it can. */
  #unwritable: string | null = null;
  /** Why the lock counts as lost, in words that strangers may read; null while it does not. */
  #problem: string | null = null;
  readonly #stopping = new AbortController();
  /** Ends the wait of the loop. */
  #interrupt: () => void = () => undefined;
  #waiting: (() => void)[] = [];

  private constructor(options: LivenessOptions, lock: LeaseLock, asked: Moment) {
    this.#options = options;
    this.#lock = lock;
    this.#confirmed = asked;
    this.#takenAt = performance.now();
    this.#heldSince = this.#takenAt;
    this.workerId = lock.workerId;
    void this.#keepUp();
  }

  static async start(options: LivenessOptions): Promise<Liveness> {
    const asked = thisMoment();
    const lock = await takeLeaseLock(options, null, Math.max(...TAKE_MS));
    if (typeof lock.confirmation === 'object') {
      lock.drop();
      throw new Error(`the lease lock cannot be confirmed: ${lock.confirmation.unwritable}`);
    }
    const liveness = new Liveness(options, lock, asked);
    options.listener.subscribe({
      channels: {
        [DEAD_CHANNEL]: (message) => {
          if (namesWorker(message, lock.workerId)) liveness.doubt(TAKEN_BACK);
        },
      },
    });
    return liveness;
  }

  /** Whether the server has confirmed the lock lately. Only then may anything be claimed. */
  get confirmed(): boolean {
    return this.#problem === null && elapsedMs(this.#confirmed) < CONFIRMED_FOR_MS;
  }

  /** For people: why nothing is claimed; null when the lock is confirmed. */
  get problem(): string | null {
    return this.confirmed ? null : (this.#problem ?? this.#unwritable ?? 'the server does not answer');
  }

  /**
   * Whether deliveries of a claim may start that was asked for then: the lock must have been held all the time since.
   * Waits for the next answer of the server when the last one is too old to tell.
   */
  async covers(claimedAt: number): Promise<boolean> {
    if (!this.confirmed && claimedAt >= this.#heldSince) await this.#nextNews();
    return this.confirmed && claimedAt >= this.#heldSince;
  }

  /** An outcome was refused although the lease was not over. If the lock was held all the time, something is wrong. */
  wasRefused(claimedAt: number): void {
    if (claimedAt >= this.#heldSince) this.doubt('an outcome was refused, so our claims were taken back');
  }

  /** Somebody looked, from then on, at the server that claims go to, and did not see the lock there. */
  wasNotSeen(since: number): void {
    if (this.confirmed && since >= this.#takenAt) this.doubt('the server that claims go to does not have it');
  }

  /** Takes the lock for lost, although the server may confirm it: claims nothing until it was taken anew. */
  doubt(reason: string): void {
    if (this.#problem !== null || this.#stopping.signal.aborted) return;
    this.#problem = reason;
    this.#heldSince = performance.now();
    this.#lock.drop();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#interrupt();
    this.#tellWaiting();
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

  /** Asks until the answer is not "yes"; resolves with what is wrong. */
  async #untilLost(lock: LeaseLock): Promise<Loss> {
    let loss: Loss | null = null;
    void lock.lost.then((error) => {
      loss = { reason: 'its connection was lost', error };
      this.#interrupt();
    });
    for (;;) {
      await this.#wait(CONFIRM_EVERY_MS);
      if (loss !== null || this.#stopping.signal.aborted) return loss ?? { reason: 'stopped' };
      const asked = thisMoment();
      const answer = await within(ANSWER_MS, lock.confirm()).catch(
        (error: unknown): Loss => ({ reason: 'the server could not be asked', error: String(error) }),
      );
      if (answer === null) return { reason: `no answer within ${ANSWER_MS} ms` };
      if (answer === 'gone') return { reason: 'the server does not have it any more' };
      if (answer === 'confirmed') this.#isConfirmed(asked);
      else if ('unwritable' in answer) this.#isUnwritable(answer.unwritable);
      else return loss ?? answer;
    }
  }

  #isUnwritable(reason: string): void {
    if (this.#unwritable === null) {
      this.#options.log.warn({ workerId: this.workerId, reason }, 'the lease lock cannot be confirmed: claiming stops');
    }
    this.#unwritable = reason;
  }

  #isConfirmed(asked: Moment): void {
    this.#unwritable = null;
    if (this.#problem !== null) return;
    const wasConfirmed = this.confirmed;
    this.#confirmed = asked;
    this.#tellWaiting();
    if (!wasConfirmed && this.confirmed) this.#options.onConfirmedAgain();
  }

  async #renew(): Promise<void> {
    const { log } = this.#options;
    let complainedAt = performance.now();
    const take = async (failures: number) => {
      const asked = thisMoment();
      const timeoutMs = TAKE_MS[failures % TAKE_MS.length] ?? 0;
      return { asked, lock: await takeLeaseLock(this.#options, this.#lock, timeoutMs) };
    };
    const taken = await untilSuccess(take, {
      signal: this.#stopping.signal,
      waitMs: () => RETRY_MS,
      onFailure: (error) => {
        const complains = performance.now() - complainedAt >= COMPLAIN_EVERY_MS;
        if (complains) complainedAt = performance.now();
        log[complains ? 'warn' : 'debug']({ err: error }, 'the lease lock cannot be taken again yet');
      },
    });
    if (taken !== null) this.#isHeldAgain(taken.lock, taken.asked);
  }

  #isHeldAgain(lock: LeaseLock, asked: Moment): void {
    this.#lock = lock;
    if (this.#stopping.signal.aborted) return void lock.release();
    const goneMs = Math.round(elapsedMs(this.#confirmed));
    this.#takenAt = performance.now();
    if (goneMs >= CONFIRMED_FOR_MS) this.#heldSince = this.#takenAt;
    this.#problem = null;
    this.#options.log.info({ workerId: this.workerId, goneMs }, 'lease lock held again');
    if (typeof lock.confirmation === 'object') {
      this.#isUnwritable(lock.confirmation.unwritable);
      return;
    }
    this.#unwritable = null;
    this.#confirmed = asked;
    this.#tellWaiting();
    this.#options.onConfirmedAgain();
  }

  /** Resolves with the next answer of the server, or when it could have been there. */
  #nextNews(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, CONFIRM_EVERY_MS + ANSWER_MS);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #tellWaiting(): void {
    for (const tell of this.#waiting.splice(0)) tell();
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

/** The answer, or null when there is none in time. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T | null> {
  const ended = new AbortController();
  const { signal } = ended;
  const late = async () => {
    const asked = performance.now();
    await sleep(ms, undefined, { signal });
    if (performance.now() - asked > ms + HELD_UP_MS) await sleep(HELD_UP_MS, undefined, { signal });
    return null;
  };
  try {
    return await Promise.race([answer, late()]);
  } finally {
    ended.abort();
  }
}
