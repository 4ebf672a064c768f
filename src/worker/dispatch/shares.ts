import { allowance } from '../../domain/fair-share.ts';

/** An amount of deliveries: in flight, reserved or allowed. */
export interface Amount {
  slots: number;
  /** Total length of their payloads in characters. */
  bytes: number;
}

/**
 * A part of the process's capacity is reserved for accounts that use little. Each may have an eighth of the capacity
 * that is left.
 */
const RESERVED: Amount = { slots: 1 / 5, bytes: 1 / 4 };
const RESERVE_APPETITE = 1 / 8;
/**
 * The appetite of accounts and queues for the unreserved capacity (`allowance`). A single account gets 72 % of the
 * slots and 3/8 of the payload bytes of a process. A queue gets 9/10 of the slots and 3/4 of the bytes of its account.
 */
const ACCOUNT_APPETITE: Amount = { slots: 9, bytes: 1 };
const QUEUE_APPETITE: Amount = { slots: 9, bytes: 3 };

const NOTHING: Readonly<Amount> = { slots: 0, bytes: 0 };

/**
 * Divides the delivery slots and payload bytes of a process among accounts, and among the queues of each account. A
 * slot cannot be taken back before the webhook has answered, so a part always stays free for accounts that use less.
 */
export class Shares {
  readonly #capacity: Amount;
  readonly #free: Amount;
  readonly #reserve: Amount;
  readonly #accounts = new Map<string, Amount>();

  constructor(capacity: Amount) {
    this.#capacity = capacity;
    this.#free = { ...capacity };
    this.#reserve = { slots: capacity.slots * RESERVED.slots, bytes: capacity.bytes * RESERVED.bytes };
  }

  get freeSlots(): number {
    return this.#free.slots;
  }

  /** @returns what an account may take now; null when it may take nothing */
  ofAccount(accountId: string): Amount | null {
    const used = this.#accounts.get(accountId) ?? NOTHING;
    return allowed(this.#free, used, this.#accountMay(used, 'slots'), this.#accountMay(used, 'bytes'));
  }

  /** Whether an account uses no more slots than an equal share among the accounts that use any. */
  isBelowAverage(accountId: string): boolean {
    const slots = this.#accounts.get(accountId)?.slots ?? 0;
    return slots * this.#accounts.size <= this.#capacity.slots - this.#reserve.slots;
  }

  #accountMay(used: Readonly<Amount>, of: keyof Amount): number {
    const free = this.#free[of];
    const unreserved = allowance(free - this.#reserve[of], used[of], ACCOUNT_APPETITE[of]);
    return Math.floor(Math.max(unreserved, allowance(free, used[of], RESERVE_APPETITE)));
  }

  /** @returns what a queue of the account may take now, given that it uses `queue`; null when it may take nothing */
  ofQueue(accountId: string, queue: Amount): Amount | null {
    const account = this.ofAccount(accountId);
    if (account === null) return null;
    const slots = Math.floor(allowance(account.slots, queue.slots, QUEUE_APPETITE.slots));
    return allowed(account, queue, slots, Math.floor(allowance(account.bytes, queue.bytes, QUEUE_APPETITE.bytes)));
  }

  /** Adds to what a queue uses. */
  take(accountId: string, queue: Amount, slots: number, bytes: number): void {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = { slots: 0, bytes: 0 };
      this.#accounts.set(accountId, account);
    }
    add(account, slots, bytes);
    add(queue, slots, bytes);
    add(this.#free, -slots, -bytes);
    if (account.slots === 0) this.#accounts.delete(accountId);
  }

  give(accountId: string, queue: Amount, slots: number, bytes: number): void {
    this.take(accountId, queue, -slots, -bytes);
  }
}

/** An account or queue that uses nothing may always take one job of any size, or large jobs could wait for ever. */
function allowed(free: Readonly<Amount>, used: Readonly<Amount>, slots: number, bytes: number): Amount | null {
  if (free.slots < 1) return null;
  if (slots >= 1 && bytes >= 1) return { slots, bytes };
  return used.slots === 0 ? { slots: Math.max(1, slots), bytes: Math.max(1, bytes) } : null;
}

function add(amount: Amount, slots: number, bytes: number): void {
  amount.slots += slots;
  amount.bytes += bytes;
}
