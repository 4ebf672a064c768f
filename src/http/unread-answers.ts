import type { ServerResponse } from 'node:http';

/** Bytes. */
const LIMITS = { perAccount: 32 * 1024 * 1024, perProcess: 256 * 1024 * 1024 };

/** A kernel takes as much without waiting, so shorter answers are never counted. */
export const LONG_ANSWER = 64 * 1024;

/** What was answered and waits in this process until its client reads it, by account. Answers are built in memory. */
export class UnreadAnswers {
  readonly #limits: typeof LIMITS;
  readonly #ofAccount = new Map<string, number>();
  readonly #ofAnswer = new Map<ServerResponse, { accountId: string; bytes: number }>();
  #total = 0;

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** Whether the account may be answered. One that has less than its part waiting always may, whatever others have. */
  hasRoom(accountId: string): boolean {
    if (this.#total === 0) return true;
    const own = this.#ofAccount.get(accountId) ?? 0;
    const { perAccount, perProcess } = this.#limits;
    // When all is full those go without who have their part of it.
    return own === 0 || (own < perAccount && (this.#total < perProcess || own < perProcess / this.#ofAccount.size));
  }

  /** For answers that are written bit by bit: counts with each write. */
  watch(res: ServerResponse, accountId: string): void {
    const write = res.write.bind(res) as (...args: unknown[]) => boolean;
    res.write = (...args: unknown[]) => {
      const isTaken = write(...args);
      this.note(res, accountId);
      return isTaken;
    };
  }

  /** To be called after each write: counts what the connection did not take at once, until it has. */
  note(res: ServerResponse, accountId: string): void {
    // Its "close" may have been.
    if (res.destroyed) return;
    const known = this.#ofAnswer.get(res);
    const bytes = res.writableLength;
    if (known === undefined && bytes < LONG_ANSWER) return;
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
