export interface ReadyQueue {
  readonly accountId: string;
}

/**
 * Queues that have work and wait for capacity. Accounts take turns, and so do the queues of an account. An account with
 * a thousand ready queues gets its second claim only after all other accounts have had their first.
 */
export class ReadyList<Queue extends ReadyQueue> {
  /** Ordered by the last turn: the account that has waited longest comes first. */
  readonly #accounts = new Map<string, Set<Queue>>();

  get size(): number {
    return this.#accounts.size;
  }

  add(queue: Queue): void {
    const queues = this.#accounts.get(queue.accountId);
    if (queues === undefined) this.#accounts.set(queue.accountId, new Set([queue]));
    else queues.add(queue);
  }

  clear(): void {
    this.#accounts.clear();
  }

  /**
   * Removes up to `count` queues, one of each account in turn, and returns them.
   * @param takesPart called at each turn of an account, before its queues
   * @param accept called for the queues in the order of their turns; a queue that is not accepted keeps its place
   */
  take(count: number, takesPart: (accountId: string) => boolean, accept: (queue: Queue) => boolean): Queue[] {
    const taken: Queue[] = [];
    let accounts = [...this.#accounts.keys()];
    while (accounts.length > 0 && taken.length < count) {
      const next: string[] = [];
      for (const accountId of accounts) {
        if (taken.length === count) break;
        const queue = takesPart(accountId) ? this.#takeOne(accountId, accept) : null;
        if (queue === null) continue;
        taken.push(queue);
        if (this.#accounts.has(accountId)) next.push(accountId);
      }
      accounts = next;
    }
    return taken;
  }

  #takeOne(accountId: string, accept: (queue: Queue) => boolean): Queue | null {
    const queues = this.#accounts.get(accountId) as Set<Queue>;
    for (const queue of queues) {
      if (!accept(queue)) continue;
      queues.delete(queue);
      this.#accounts.delete(accountId);
      // The account has had its turn, so it goes behind all others.
      if (queues.size > 0) this.#accounts.set(accountId, queues);
      return queue;
    }
    return null;
  }
}
