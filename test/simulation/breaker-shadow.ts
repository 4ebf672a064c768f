import type { BreakerSettings } from '../../src/domain/breaker.ts';

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;
const SOON_MS = 600_000;

/** The checker's own record of a breaker. */
export class BreakerShadow {
  readonly #settings: BreakerSettings;
  readonly #reached: (state: string) => void;
  #failed = 0;
  #since: number | null = null;
  #until: number | null = null;
  #probes = 0;
  #closedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: BreakerSettings, reached: (state: string) => void) {
    this.#settings = settings;
    this.#reached = reached;
  }

  get has(): boolean {
    return this.#settings.failures !== null || this.#settings.seconds !== null;
  }

  get isOpen(): boolean {
    return this.#until !== null;
  }

  /**
   * So many answers in a row have failed; 0 if one was accepted together with them.
   * @returns the end of the hold that begins now; null if none does
   */
  failed(
    answers: number,
    wasProbe: boolean,
    { now, isHeld, askedMs }: { now: number; isHeld: boolean; askedMs: number },
  ): number | null {
    const wasOpen = this.isOpen && isHeld;
    this.#failed += answers;
    if (answers > 0) this.#since ??= now;
    if (wasOpen && !wasProbe) return null;
    if (wasOpen) {
      this.#probes += 1;
      this.#reached('the probe of a breaker fails');
    } else {
      if (answers === 0 || !this.#isDue(now)) return null;
      this.#probes = now - this.#closedAt <= SOON_MS ? this.#probes + 1 : 0;
      this.#reached('a breaker opens');
    }
    this.#until = now + Math.min(Math.max(FIRST_PAUSE_MS * 2 ** this.#probes, askedMs), LONGEST_PAUSE_MS);
    return this.#until;
  }

  /** @returns the end of its hold, if it was open */
  succeeded(now: number): number | null {
    const until = this.#until;
    if (until !== null) {
      this.#reached('a breaker closes');
      this.#closedAt = now;
    }
    this.#failed = 0;
    this.#since = null;
    this.#until = null;
    return until;
  }

  /** Its receiver is another one. @returns the end of its hold, if it is open */
  renewed(now: number): number | null {
    const until = this.#until;
    this.#probes = 0;
    this.#closedAt = Number.NEGATIVE_INFINITY;
    if (until === null) {
      this.#failed = 0;
      this.#since = null;
    } else {
      this.#until = Math.min(until, now);
    }
    return until;
  }

  #isDue(now: number): boolean {
    const { failures, seconds } = this.#settings;
    if (failures !== null && this.#failed >= failures) return true;
    return seconds !== null && this.#failed >= 2 && this.#since !== null && now - this.#since >= seconds * 1000;
  }
}
