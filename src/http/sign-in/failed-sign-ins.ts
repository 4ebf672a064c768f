import { isIPv6 } from 'node:net';

/** Failed sign-ins of one address in a window, and addresses that are remembered. */
const BOUNDS = { failures: 20, windowMs: 60_000, addresses: 10_000 };

interface Window {
  /** Failed sign-ins, and those that are being checked. */
  count: number;
  until: number;
}

/** Counts failed sign-ins by address, and refuses an address with too many of them until its window ends. */
export class FailedSignIns {
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts a sign-in until `end`, so that many at once cannot exceed the bound.
   * @returns 0, or the number of seconds after which the address may try again
   */
  begin(address: string): number {
    const window = this.#windowOf(address);
    if (window.count >= BOUNDS.failures) return Math.ceil((window.until - this.#now()) / 1000);
    window.count += 1;
    return 0;
  }

  end(address: string): void {
    const window = this.#windowOf(address);
    window.count = Math.max(0, window.count - 1);
  }

  add(address: string): void {
    this.#windowOf(address).count += 1;
  }

  #windowOf(address: string): Window {
    const now = this.#now();
    const group = groupOf(address);
    const present = this.#windows.get(group);
    if (present !== undefined && present.until > now) return present;
    const window = { count: 0, until: now + BOUNDS.windowMs };
    this.#windows.delete(group);
    this.#windows.set(group, window);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > BOUNDS.addresses && oldest !== undefined) this.#windows.delete(oldest);
    return window;
  }
}

/** One person usually has all addresses of an IPv6 network of 64 bits. */
function groupOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const rest = tail.split(':').filter((group) => group !== '');
  const zeros = address.includes('::') ? Array.from({ length: 8 - groups.length - rest.length }, () => '0') : [];
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':');
}
