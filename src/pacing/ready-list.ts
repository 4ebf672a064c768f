export interface OfAccount {
  readonly accountId: string;
}

/**
 * Queues or bulk actions that have work and wait for capacity. Accounts take turns, and so do the items of an account.
 * An account with a thousand ready queues gets its second claim only after all other accounts have had their first.
 */
export class ReadyList<Item extends OfAccount> {
  /** Ordered by the last turn: the account that has waited longest comes first. */
  readonly #accounts = new Map<string, Set<Item>>();

  get size(): number {
    return this.#accounts.size;
  }

  add(item: Item): void {
    const items = this.#accounts.get(item.accountId);
    if (items === undefined) this.#accounts.set(item.accountId, new Set([item]));
    else items.add(item);
  }

  clear(): void {
    this.#accounts.clear();
  }

  /**
   * Removes up to `count` items, one of each account in turn, and returns them.
   * @param takesPart called at each turn of an account, before its items
   * @param accept called for the items in the order of their turns; an item that is not accepted keeps its place
   */
  take(count: number, takesPart: (accountId: string) => boolean, accept: (item: Item) => boolean): Item[] {
    const taken: Item[] = [];
    let accounts = [...this.#accounts.keys()];
    while (accounts.length > 0 && taken.length < count) {
      const next: string[] = [];
      for (const accountId of accounts) {
        if (taken.length === count) break;
        const item = takesPart(accountId) ? this.#takeOne(accountId, accept) : null;
        if (item === null) continue;
        taken.push(item);
        if (this.#accounts.has(accountId)) next.push(accountId);
      }
      accounts = next;
    }
    return taken;
  }

  #takeOne(accountId: string, accept: (item: Item) => boolean): Item | null {
    const items = this.#accounts.get(accountId) as Set<Item>;
    for (const item of items) {
      if (!accept(item)) continue;
      items.delete(item);
      this.#accounts.delete(accountId);
      // The account has had its turn, so it goes behind all others.
      if (items.size > 0) this.#accounts.set(accountId, items);
      return item;
    }
    return null;
  }
}
