/** How many items and bytes may wait. */
export interface Room {
  items: number;
  bytes: number;
}

interface Waiting {
  account: string;
  bytes: number;
}

interface Line<Entry> {
  entries: Entry[];
  bytes: number;
}

/** Waiting entries, first in first out for each account. The accounts are served in turn. */
export class WaitingLines<Entry extends Waiting> {
  /** In the order in which the accounts are served. */
  readonly #lines = new Map<string, Line<Entry>>();
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
   * @returns the entry that the caller must refuse: the given one if its account has reached its own bound; the newest entry
   *   of the account that has the most, if the common bound is reached; null if there is room
   */
  add(entry: Entry): Entry | null {
    const { account, bytes } = entry;
    const line = this.#lines.get(account) ?? { entries: [], bytes: 0 };
    const { length } = line.entries;
    if (length >= this.#roomOfOne.items || (length > 0 && line.bytes + bytes > this.#roomOfOne.bytes)) return entry;
    let displaced: Entry | null = null;
    if (this.#count >= this.#room.items || (this.#count > 0 && this.#bytes + bytes > this.#room.bytes)) {
      displaced = this.#newestOfLongest(length + 1, line.bytes + bytes);
      if (displaced === null) return entry;
    }
    line.entries.push(entry);
    line.bytes += bytes;
    this.#lines.set(account, line);
    this.#count += 1;
    this.#bytes += bytes;
    return displaced;
  }

  /**
   * Takes the next entries, one of each account in turn; at least one if any waits. If an account's next entry is too large
   * for the rest of the batch, the account keeps its turn and the other accounts do not wait for it.
   */
  take(maxItems: number, maxBytes: number): Entry[] {
    const taken: Entry[] = [];
    let bytes = 0;
    // The loop also visits an account again that was moved to the end.
    for (const [account, line] of this.#lines) {
      for (let [entry] = line.entries; entry !== undefined; [entry] = line.entries) {
        if (taken.length >= maxItems) return taken;
        if (taken.length > 0 && bytes + entry.bytes > maxBytes) break;
        bytes += entry.bytes;
        taken.push(entry);
        this.#shift(account, line, entry);
        if (this.#lines.size === 1 || line.entries.length === 0) continue;
        this.#lines.delete(account);
        this.#lines.set(account, line);
        break;
      }
    }
    return taken;
  }

  /** Takes the oldest entry of an account, out of turn; null if none waits. */
  takeFrom(account: string): Entry | null {
    const line = this.#lines.get(account);
    const [entry] = line?.entries ?? [];
    if (line === undefined || entry === undefined) return null;
    this.#shift(account, line, entry);
    return entry;
  }

  /** Removes and returns each account's oldest entries, for as long as `isOver` is true of them. */
  removeWhile(isOver: (entry: Entry) => boolean): Entry[] {
    const removed: Entry[] = [];
    for (const [account, line] of this.#lines) {
      for (let [entry] = line.entries; entry !== undefined && isOver(entry); [entry] = line.entries) {
        removed.push(entry);
        this.#shift(account, line, entry);
      }
    }
    return removed;
  }

  #shift(account: string, line: Line<Entry>, entry: Entry): void {
    line.entries.shift();
    line.bytes -= entry.bytes;
    this.#count -= 1;
    this.#bytes -= entry.bytes;
    if (line.entries.length === 0) this.#lines.delete(account);
  }

  /**
   * Takes the newest entry of the account that has the most of the resource that ran out; null if that account does not
   * have more than the given amount.
   */
  #newestOfLongest(items: number, bytes: number): Entry | null {
    const byBytes = this.#count < this.#room.items;
    const sizeOf = (line: Line<Entry>) => (byBytes ? line.bytes : line.entries.length);
    let longest: Line<Entry> | null = null;
    for (const line of this.#lines.values()) {
      if (longest === null || sizeOf(line) > sizeOf(longest)) longest = line;
    }
    if (longest === null || sizeOf(longest) <= (byBytes ? bytes : items)) return null;
    const entry = longest.entries.pop();
    if (entry === undefined) return null;
    longest.bytes -= entry.bytes;
    this.#count -= 1;
    this.#bytes -= entry.bytes;
    if (longest.entries.length === 0) this.#lines.delete(entry.account);
    return entry;
  }
}
