/** A queue as the ready list has to know it. */
export interface ReadyQueue {
  readonly accountId: string;
}

/**
 * Queues that have work and wait for capacity. Accounts take turns, and so do the queues of each, so that an account with
 * a thousand of them waits as long for its second claim as all others for their first.
 */
export class ReadyList<Queue extends ReadyQueue> {
  /** Who has not had a turn for the longest time comes first. */
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
   * @param takesPart asked at each turn of an account, before its queues
   * @param accept asked in the order of their turns; a queue that is not accepted keeps its place
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
      // It has had its turn: behind all others.
      if (queues.size > 0) this.#accounts.set(accountId, queues);
      return queue;
    }
    return null;
  }
}
