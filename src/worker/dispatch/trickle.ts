import type { Egress } from '../../delivery/egress.ts';

/** While no delivery can begin, one claim in this time finds out whether that is over. */
const EVERY_MS = 1000;

/**
 * Lets one claim pass in a while, so that a process that reaches no receiver does not claim and put back jobs all the
 * time.
 */
export class Trickle {
  readonly #egress: Pick<Egress, 'isCutOff'>;
  readonly #again: () => void;
  #passedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  /** @param again called when a claim that had to wait may pass */
  constructor(egress: Pick<Egress, 'isCutOff'>, again: () => void) {
    this.#egress = egress;
    this.#again = again;
  }

  /** Whether a claim may be sent now. */
  letsPass(): boolean {
    if (!this.#egress.isCutOff) return true;
    const waitMs = this.#passedAt + EVERY_MS - performance.now();
    if (waitMs <= 0) {
      this.#passedAt = performance.now();
      return true;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#again();
    }, waitMs);
    return false;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
