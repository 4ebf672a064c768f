import { isIP } from 'node:net';
import type { OwnFailure } from '../domain/outcome.ts';

/** An outage is over when this time has passed without a failure, as when nothing is delivered any more. */
const FORGOTTEN_MS = 120_000;
/**
 * A delivery that could not begin is tried again after half of the time that the outage has lasted,
 * within these bounds.
 */
const MIN_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/**
 * The pause is random between half of this and one and a half of it,
 * so that the jobs of an outage do not come back together.
 */
const MIDDLE = { min: MIN_PAUSE_MS / 0.5, max: MAX_PAUSE_MS / 1.5 };
/**
 * An outage that ends and begins again within this is logged once:
 * a receiver's name may do that as often as it is looked up.
 */
const LOG_EVERY_MS = 10_000;

export interface EgressLog {
  warn(fields: object, text: string): void;
  info(fields: object, text: string): void;
}

/** A failure of this process's own way to all receivers. */
export interface Outage {
  error: OwnFailure;
  sinceMs: number;
}

interface Noted {
  since: number;
  lastAt: number;
  isLogged: boolean;
}

/**
 * Problems that keep this process from reaching any receiver: its proxy, its name servers, or its own limits. A job is
 * not to blame, so it goes back without an attempt (D38), and the pause grows with the outage instead of with the job.
 */
export class Egress {
  readonly #log: EgressLog | null;
  readonly #now: () => number;
  readonly #outages = new Map<OwnFailure, Noted>();
  readonly #loggedAt = new Map<OwnFailure, number>();

  constructor(log: EgressLog | null = null, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** To be called for each delivery that could not begin. */
  failed(error: OwnFailure): void {
    const now = this.#now();
    const known = this.#outages.get(error);
    if (known !== undefined && now - known.lastAt < FORGOTTEN_MS) {
      known.lastAt = now;
      return;
    }
    const isLogged = now - (this.#loggedAt.get(error) ?? Number.NEGATIVE_INFINITY) >= LOG_EVERY_MS;
    this.#outages.set(error, { since: now, lastAt: now, isLogged });
    if (!isLogged) return;
    this.#loggedAt.set(error, now);
    this.#log?.warn({ error }, 'deliveries cannot begin; they use up no attempt and will be retried');
  }

  /** To be called when a part of the way works. */
  works(...errors: readonly OwnFailure[]): void {
    if (this.#outages.size === 0) return;
    for (const error of errors) {
      const known = this.#outages.get(error);
      if (known === undefined) continue;
      this.#outages.delete(error);
      if (!known.isLogged) continue;
      const lastedMs = Math.round(this.#now() - known.since);
      this.#log?.info({ error, lastedMs }, 'deliveries can begin again');
    }
  }

  /** The outage that has lasted longest; null if there is none. */
  get outage(): Outage | null {
    const now = this.#now();
    let longest: Outage | null = null;
    for (const [error, { since, lastAt }] of this.#outages) {
      if (now - lastAt >= FORGOTTEN_MS) this.#outages.delete(error);
      else if (longest === null || now - since > longest.sinceMs) longest = { error, sinceMs: now - since };
    }
    return longest;
  }

  /**
   * @returns the failure that keeps deliveries from a host, which need not be the cause of a late delivery; null
   * without one
   */
  keepsFrom(hostname: string): OwnFailure | null {
    const error = this.outage?.error ?? null;
    const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
    return error === 'resolver_unreachable' && isAddress ? null : error;
  }

  /**
   * Whether no delivery at all can begin. Without name servers, those to addresses can; descriptors and local ports may
   * be missing for a moment, or for one receiver.
   */
  get isCutOff(): boolean {
    return this.outage !== null && this.#outages.has('proxy_unreachable');
  }

  /** @param random uniform in [0, 1) */
  pauseMs(random: number): number {
    const half = (this.outage?.sinceMs ?? 0) / 2;
    return Math.min(Math.max(half, MIDDLE.min), MIDDLE.max) * (0.5 + random);
  }
}
