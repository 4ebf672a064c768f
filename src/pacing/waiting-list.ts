/** How many items and bytes may wait. */
export interface Room {
  items: number;
  bytes: number;
}

interface Waiting {
  account: string;
  bytes: number;
}

interface OfAccount<Entry> {
  entries: Entry[];
  bytes: number;
}

/** Waiting entries, first in first out for each account. The accounts are served in turn. */
export class WaitingList<Entry extends Waiting> {
  /** In the order in which the accounts are served. */
  readonly #byAccount = new Map<string, OfAccount<Entry>>();
  readonly #room: Room;
  readonly #roomOfOne: Room;
  #count = 0;
  #bytes = 0;

  constructor(room: Room, roomOfOne: Room) {
    this.#room = room;
    this.#roomOfOne = roomOfOne;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Adds an entry.
   * @returns the entry that the caller must refuse: the given one if its account has reached its own bound; the newest
   *   entry of the account that has the most, if the common bound is reached; null if there is room
   */
  add(entry: Entry): Entry | null {
    const { account, bytes } = entry;
    const own = this.#byAccount.get(account) ?? { entries: [], bytes: 0 };
    const { length } = own.entries;
    if (length >= this.#roomOfOne.items || (length > 0 && own.bytes + bytes > this.#roomOfOne.bytes)) return entry;
    let displaced: Entry | null = null;
    if (this.#count >= this.#room.items || (this.#count > 0 && this.#bytes + bytes > this.#room.bytes)) {
      displaced = this.#newestOfLargest(length + 1, own.bytes + bytes);
      if (displaced === null) return entry;
    }
    own.entries.push(entry);
    own.bytes += bytes;
    this.#byAccount.set(account, own);
    this.#count += 1;
    this.#bytes += bytes;
    return displaced;
  }

  /**
   * Takes the next entries, one of each account in turn; at least one if any waits. If an account's next entry is too
   * large for the rest of the batch, the account keeps its turn and the other accounts do not wait for it.
   */
  take(maxItems: number, maxBytes: number): Entry[] {
    const taken: Entry[] = [];
    let bytes = 0;
    // The loop also visits an account again that was moved to the end.
    for (const [account, own] of this.#byAccount) {
      for (let [entry] = own.entries; entry !== undefined; [entry] = own.entries) {
        if (taken.length >= maxItems) return taken;
        if (taken.length > 0 && bytes + entry.bytes > maxBytes) break;
        bytes += entry.bytes;
        taken.push(entry);
        this.#shift(account, own, entry);
        if (this.#byAccount.size === 1 || own.entries.length === 0) continue;
        this.#byAccount.delete(account);
        this.#byAccount.set(account, own);
        break;
      }
    }
    return taken;
  }

  /** Takes the oldest entry of an account, out of turn; null if none waits. */
  takeFrom(account: string): Entry | null {
    const own = this.#byAccount.get(account);
    const [entry] = own?.entries ?? [];
    if (own === undefined || entry === undefined) return null;
    this.#shift(account, own, entry);
    return entry;
  }

  /** Calls `visit` with each entry. */
  forEach(visit: (entry: Entry) => void): void {
    for (const { entries } of this.#byAccount.values()) entries.forEach(visit);
  }

  /** Removes and returns each account's oldest entries, for as long as `isOver` is true of them. */
  removeWhile(isOver: (entry: Entry) => boolean): Entry[] {
    const removed: Entry[] = [];
    for (const [account, own] of this.#byAccount) {
      for (let [entry] = own.entries; entry !== undefined && isOver(entry); [entry] = own.entries) {
        removed.push(entry);
        this.#shift(account, own, entry);
      }
    }
    return removed;
  }

  #shift(account: string, own: OfAccount<Entry>, entry: Entry): void {
    own.entries.shift();
    own.bytes -= entry.bytes;
    this.#count -= 1;
    this.#bytes -= entry.bytes;
    if (own.entries.length === 0) this.#byAccount.delete(account);
  }

  /**
   * Takes the newest entry of the account that has the most of the resource that ran out; null if that account does not
   * have more than the given amount.
   */
  #newestOfLargest(items: number, bytes: number): Entry | null {
    const byBytes = this.#count < this.#room.items;
    const sizeOf = (own: OfAccount<Entry>) => (byBytes ? own.bytes : own.entries.length);
    let largest: OfAccount<Entry> | null = null;
    for (const own of this.#byAccount.values()) {
      if (largest === null || sizeOf(own) > sizeOf(largest)) largest = own;
    }
    if (largest === null || sizeOf(largest) <= (byBytes ? bytes : items)) return null;
    const entry = largest.entries.pop();
    if (entry === undefined) return null;
    largest.bytes -= entry.bytes;
    this.#count -= 1;
    this.#bytes -= entry.bytes;
    if (largest.entries.length === 0) this.#byAccount.delete(entry.account);
    return entry;
  }
}
