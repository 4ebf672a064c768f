import type { Database } from '../db/database.ts';
import { giveLifeSign, type LifeSign, silentWorkers } from '../db/workers.ts';
import type { Logger } from '../log.ts';

const RECONNECT_MS = 500;

/**
 * This process's number and its life sign, kept up through database restarts under the same number:
 * while it is missing, others may take our claims back, and the claim token sorts that out.
 */
export class Liveness {
  readonly workerId: number;
  readonly #url: string;
  readonly #log: Logger;
  #sign: LifeSign;
  #stopped = false;

  private constructor(url: string, log: Logger, sign: LifeSign) {
    this.#url = url;
    this.#log = log;
    this.#sign = sign;
    this.workerId = sign.workerId;
    void this.#keepUp();
  }

  static async start(url: string, log: Logger): Promise<Liveness> {
    return new Liveness(url, log, await giveLifeSign(url, log, null));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#sign.release().catch(() => undefined);
  }

  async #keepUp(): Promise<void> {
    while (!this.#stopped) {
      await this.#sign.lost;
      while (!this.#stopped) {
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
        try {
          this.#sign = await giveLifeSign(this.#url, this.#log, this.workerId);
          if (this.#stopped) await this.#sign.release();
          break;
        } catch (error) {
          this.#log.debug({ err: error }, 'no life sign yet');
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
