import type { Database } from '../db/database.ts';
import { giveLifeSign, type LifeSign, type LifeSignOptions, silentWorkers } from '../db/workers.ts';
import type { Logger } from '../log.ts';

const RECONNECT_MS = 500;

export interface LivenessOptions extends LifeSignOptions {
  log: Logger;
  /** Others see again that this process lives. */
  onSeenAgain(): void;
}

/**
 * This process's number and its life sign, kept up through database restarts under the same number:
 * while it is missing, others may take our claims back, and the claim token sorts that out.
 */
export class Liveness {
  readonly workerId: number;
  readonly #options: LivenessOptions;
  #sign: LifeSign;
  #stopped = false;
  #seen = true;

  private constructor(options: LivenessOptions, sign: LifeSign) {
    this.#options = options;
    this.#sign = sign;
    this.workerId = sign.workerId;
    void this.#keepUp();
  }

  static async start(options: LivenessOptions): Promise<Liveness> {
    return new Liveness(options, await giveLifeSign(options, null));
  }

  /** Whether others see that this process lives. While they do not, they take back whatever it claims. */
  get seen(): boolean {
    return this.#seen;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#sign.release().catch(() => undefined);
  }

  async #keepUp(): Promise<void> {
    while (!this.#stopped) {
      await this.#sign.lost;
      this.#seen = false;
      while (!this.#stopped) {
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
        try {
          this.#sign = await giveLifeSign(this.#options, this.workerId);
          if (this.#stopped) await this.#sign.release();
          this.#seen = true;
          this.#options.onSeenAgain();
          break;
        } catch (error) {
          this.#options.log.debug({ err: error }, 'no life sign yet');
        }
      }
    }
  }
}

/**
 * Finds workers that died. One look is not enough: after a restart of the database every worker is
 * silent until it has reconnected.
 */
export class DeathWatch {
  readonly #db: Database;
  readonly #self: number;
  #silentBefore = new Set<number>();

  constructor(db: Database, self: number) {
    this.#db = db;
    this.#self = self;
  }

  /** Workers that were silent at this look and at the one before. */
  async look(): Promise<number[]> {
    const silent = (await silentWorkers(this.#db)).filter((id) => id !== this.#self);
    const dead = silent.filter((id) => this.#silentBefore.has(id));
    this.#silentBefore = new Set(silent);
    return dead;
  }
}
