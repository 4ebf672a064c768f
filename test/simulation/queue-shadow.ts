import { BreakerShadow } from './breaker-shadow.ts';
import type { SettleItem } from './model/settle.ts';
import type { JobRow, QueueRow } from './model/tables.ts';
import type { Arrival } from './receiver.ts';

/** The checker's own record of a queue: what may be claimed of it, and which requests are open. */
export class QueueShadow {
  paused = false;
  /** When the last pause began. */
  pausedAt: number | null = null;
  /** The last job that was claimed as a probe. */
  lastProbe: string | null = null;
  readonly #row: QueueRow;
  readonly #violated: (invariant: string, detail: string) => void;
  readonly #reached: (state: string) => void;
  #deleted = false;
  #heldUntil: number | null = null;
  #probe: string | null = null;
  readonly #claims: number[] = [];
  /** The highest concurrency that was in force: a lower one takes effect when the jobs in flight have ended. */
  #concurrency: number;
  readonly #arrivals: Arrival[] = [];
  readonly #breaker: BreakerShadow;
  /** Probes that were in flight to another webhook. */
  readonly #overtaken = new Set<string>();

  constructor(row: QueueRow, violated: (invariant: string, detail: string) => void, reached: (state: string) => void) {
    this.#row = row;
    this.#concurrency = row.concurrency;
    this.#heldUntil = row.holdUntil;
    this.#breaker = new BreakerShadow(row.breaker, reached);
    this.#violated = violated;
    this.#reached = reached;
  }

  get hasBreaker(): boolean {
    return this.#breaker.has;
  }

  get probe(): string | null {
    return this.#probe;
  }

  /** The row has got other settings. */
  wasEdited(inFlight: number): void {
    // A limit that is new counts from now on.
    this.#claims.length = 0;
    this.#concurrency = Math.max(this.#concurrency, this.#row.concurrency);
    if (inFlight > this.#row.concurrency) this.#reached('the concurrency is lowered below what is in flight');
  }

  /** The webhook of the queue has another address: the next probe of an open breaker is due. */
  wasMoved(now: number): void {
    const until = this.#breaker.renewed(now);
    const isHeldByReceiver = this.#heldUntil !== until && (this.#heldUntil ?? 0) > now;
    if (until === null || this.#heldUntil === null || isHeldByReceiver) return;
    this.#heldUntil = Math.min(this.#heldUntil, now);
    if (until > now) this.#reached('a held queue gets another webhook');
    if (this.#probe === null) return;
    this.#reached('a queue gets another webhook while its probe is in flight');
    this.#overtaken.add(this.#probe);
    this.#probe = null;
  }

  /** Whether the job was claimed as a probe. */
  isProbe(jobId: string): boolean {
    return this.lastProbe === jobId || this.#overtaken.has(jobId);
  }

  /** A window that comes a second time is another one. */
  clockJumps(): void {
    this.#claims.length = 0;
  }

  isPaused(now: number): void {
    this.paused = true;
    this.pausedAt = now;
  }

  isDeleted(): void {
    this.#deleted = true;
    this.#heldUntil = null;
    this.#probe = null;
  }

  gaveNothing(now: number): void {
    const { rateLimitMax } = this.#row;
    const isHeld = this.#heldUntil !== null && this.#heldUntil > now;
    if (isHeld && rateLimitMax !== null && this.#claimsInWindow(now) >= rateLimitMax) {
      this.#reached('the rate window is full while the queue is held');
    }
    if (isHeld && this.paused) this.#reached('a queue is held and paused');
    if (this.#probe !== null) this.#reached('the others wait for the probe');
  }

  claimed(jobs: readonly JobRow[], now: number, inFlight: number): void {
    const { id, concurrency, rateLimitMax } = this.#row;
    this.#check(inFlight <= concurrency, 'I-12 SlotCap', `${id}: ${inFlight} in flight of ${concurrency}`);
    this.#check(!this.paused, 'pause', `${id} is paused and gives ${jobs.length}`);
    this.#check(!this.#deleted, 'I-28 QueueDelete', `${id} is deleted and gives ${jobs.length}`);
    this.#check(this.#probe === null, 'I-16 Probe', `${id} gives jobs while ${this.#probe} is the probe`);
    if (this.#heldUntil !== null) {
      this.#check(now >= this.#heldUntil, 'I-16 Probe', `${id} is held for ${this.#heldUntil - now} ms more`);
      this.#check(jobs.length === 1, 'I-16 Probe', `${id} gives ${jobs.length} jobs as its probe`);
      this.#probe = jobs[0]?.id ?? null;
      this.lastProbe = this.#probe;
      this.#reached('a probe is sent');
    }
    for (const job of jobs) {
      this.#claims.push(now);
      this.#overtaken.delete(job.id);
    }
    if (rateLimitMax === null) return;
    const used = this.#claimsInWindow(now);
    this.#check(used <= rateLimitMax, 'I-14 RateLimit', `${id}: ${used} in a window of ${rateLimitMax}`);
  }

  /** A settlement that was applied. */
  affected({ id, effect, effectMs }: SettleItem, now: number): void {
    if (effect === 'hold') {
      this.#heldUntil = Math.max(this.#heldUntil ?? 0, now + (effectMs ?? 0));
      if (this.#probe === id) this.#reached('the probe meets backpressure');
      if (this.#probe !== null && this.#probe !== id) this.#reached('a hold is requested while the probe is in flight');
    } else if (effect === 'resume' && this.#probe === id) {
      if (this.#heldUntil !== null && this.#heldUntil <= now && !this.#breaker.isOpen) this.#heldUntil = null;
      else if (!this.#breaker.isOpen) this.#reached('the probe succeeds and a later hold goes on');
    }
    if ((effect === 'hold' || effect === 'resume') && this.#probe === id) this.#probe = null;
  }

  /** The settlements of a statement that were applied, after `affected`: those that a breaker counts. */
  told(items: readonly SettleItem[], now: number): void {
    const of = (effect: SettleItem['effect']) => items.filter((item) => item.effect === effect);
    const [failing, accepted, alive] = [of('failing'), of('accepted'), of('alive')];
    const isAbout = (some: readonly SettleItem[]) => some.some(({ id }) => id === this.#probe);
    if (failing.length > 0) {
      const wasProbe = isAbout(failing);
      const isInRow = accepted.length + alive.length === 0;
      const askedMs = Math.max(0, ...failing.map(({ effectMs }) => effectMs ?? 0));
      const opened = this.#breaker.failed(isInRow ? failing.length : 0, wasProbe, {
        now,
        isHeld: this.#heldUntil !== null,
        askedMs,
      });
      const until = opened ?? (askedMs > 0 ? now + askedMs : null);
      if (until !== null) this.#heldUntil = Math.max(this.#heldUntil ?? 0, until);
      else if (wasProbe) this.#probeEnds(now);
      if (wasProbe) this.#probe = null;
    }
    if (accepted.length + alive.length === 0) return;
    const { isOpen } = this.#breaker;
    const until = this.#breaker.succeeded(now);
    if (until !== null && until === this.#heldUntil) {
      this.#heldUntil = null;
      this.#probe = null;
    } else if (isAbout(alive) || (isOpen && isAbout(accepted))) {
      this.#probeEnds(now);
      this.#probe = null;
    }
  }

  #probeEnds(now: number): void {
    if (this.#heldUntil !== null && this.#heldUntil <= now && !this.#breaker.isOpen) this.#heldUntil = null;
  }

  /** @param timeoutMs an older request counts as not answered, even if its process is frozen and has not reported it */
  arrived(arrival: Arrival, timeoutMs: number): void {
    this.#arrivals.push(arrival);
    const since = arrival.at - timeoutMs;
    const isOnWire = ({ open, at, process }: Arrival) => open && at > since && !process.dead && !process.everSilent;
    const onWire = this.#arrivals.filter(isOnWire).length;
    this.#check(onWire <= this.#concurrency, 'I-13 WireCap', `${onWire} requests of ${this.#concurrency} are open`);
  }

  #claimsInWindow(now: number): number {
    const length = Math.round(this.#row.rateLimitWindow * 1000);
    const start = Math.floor(now / length) * length;
    return this.#claims.filter((at) => at >= start).length;
  }

  #check(holds: boolean, invariant: string, detail: string): void {
    if (!holds) this.#violated(invariant, detail);
  }
}
