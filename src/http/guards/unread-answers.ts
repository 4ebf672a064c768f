import type { ServerResponse } from 'node:http';

/** Bytes. */
const LIMITS = { perAccount: 32 * 1024 * 1024, perProcess: 256 * 1024 * 1024 };

/**
 * The kernel accepts this many bytes at once, so shorter answers are counted only while they wait behind another one.
 */
export const LONG_ANSWER = 64 * 1024;

/** Bytes of answers that wait in this process's memory until their clients read them, by account. */
export class UnreadAnswers {
  readonly #limits: typeof LIMITS;
  readonly #ofAccount = new Map<string, number>();
  readonly #ofAnswer = new Map<ServerResponse, { accountId: string; bytes: number }>();
  #total = 0;

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** Bytes of all accounts. */
  get bytes(): number {
    return this.#total;
  }

  /** Whether the account may get another long answer. An account below its part always may. */
  hasRoom(accountId: string): boolean {
    if (this.#total === 0) return true;
    const own = this.#ofAccount.get(accountId) ?? 0;
    const { perAccount, perProcess } = this.#limits;
    // If the process's limit is reached, accounts that have their part or more are refused.
    return own === 0 || (own < perAccount && (this.#total < perProcess || own < perProcess / this.#ofAccount.size));
  }

  /** For answers that are written in parts: counts at each write. */
  watch(res: ServerResponse, accountId: string): void {
    const write = res.write.bind(res) as (...args: unknown[]) => boolean;
    res.write = (...args: unknown[]) => {
      const isTaken = write(...args);
      this.note(res, accountId);
      return isTaken;
    };
  }

  /**
   * To be called after each write: counts the bytes that the connection did not take at once, until it has taken them.
   */
  note(res: ServerResponse, accountId: string): void {
    // "close" may have been emitted already.
    if (res.destroyed) return;
    const known = this.#ofAnswer.get(res);
    const bytes = res.writableLength;
    if (known === undefined && bytes < LONG_ANSWER && !isQueued(res)) return;
    if (known === undefined) {
      res.on('drain', () => this.note(res, accountId));
      res.once('close', () => {
        this.#set(res, accountId, 0);
        this.#ofAnswer.delete(res);
      });
    }
    this.#set(res, accountId, bytes);
  }

  #set(res: ServerResponse, accountId: string, bytes: number): void {
    const more = bytes - (this.#ofAnswer.get(res)?.bytes ?? 0);
    const own = (this.#ofAccount.get(accountId) ?? 0) + more;
    this.#ofAnswer.set(res, { accountId, bytes });
    this.#total += more;
    if (own > 0) this.#ofAccount.set(accountId, own);
    else this.#ofAccount.delete(accountId);
  }
}

/**
 * Whether an answer waits behind another one, because the client has pipelined its requests.
 * Then it has no connection yet.
 */
export function isQueued(res: ServerResponse): boolean {
  return res.socket === null;
}
