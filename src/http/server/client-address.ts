import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** A proxy that connects to a unix socket has no address. */
const UNIX_SOCKET = 'unix:';

/**
 * The addresses of the proxies whose `X-Forwarded-For` is believed, as `10.0.0.0/8` or as a single address; `unix:` if
 * this process listens on a unix socket.
 */
export class TrustedProxies {
  readonly #blocks = new BlockList();
  readonly #hasSocket: boolean;
  readonly isEmpty: boolean;

  constructor(blocks: readonly string[]) {
    this.isEmpty = blocks.length === 0;
    this.#hasSocket = blocks.includes(UNIX_SOCKET);
    for (const block of blocks) {
      if (block === UNIX_SOCKET) continue;
      const [address = '', bits] = block.split('/');
      const family = familyOf(address);
      if (bits === undefined) this.#blocks.addAddress(address, family);
      else this.#blocks.addSubnet(address, Number(bits), family);
    }
  }

  /** @param address empty if the connection has none */
  has(address: string): boolean {
    if (address === '') return this.#hasSocket;
    return this.#blocks.check(address, familyOf(address));
  }
}

/**
 * Returns the address of the client, or an empty text if the connection has none any more.
 *
 * Every proxy appends the address from which it was connected to, so only what trusted proxies have appended is true.
 * The header is read from its end, while the address that connected is a trusted proxy: the first other address is the
 * client's. All before it is what the client has sent, and may be invented.
 */
export function clientAddress({ socket, headers }: IncomingMessage, trusted: TrustedProxies): string {
  let address = plainAddress(socket.remoteAddress ?? '') ?? '';
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
  for (const entry of forwarded) {
    if (!trusted.has(address)) break;
    const before = plainAddress(entry.trim());
    // A trusted proxy appended something else, such as `unknown`: the proxy is the nearest address that is known.
    if (before === null) break;
    address = before;
  }
  return address;
}

/** Returns the address without a port or zone, and an IPv4 address as such; null if the text is no address. */
function plainAddress(text: string): string | null {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const [, withPort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  const address = bracketed ?? withPort ?? text;
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  const [plain = ''] = (mapped ?? address).split('%');
  return isIP(plain) === 0 ? null : plain;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}
