import { BlockList, isIP } from 'node:net';
import type { z } from 'zod';
import { parsedUrl } from '../../domain/parsed-url.ts';

/** Lists of addresses in variables, separated by commas. */

/** In TRUSTED_PROXIES: the proxy that connects to the unix socket on which this process listens. */
export const UNIX_SOCKET = 'unix:';

/** Origins of pages, as browsers write them. Not `*`, which would be every page that a person in this network opens. */
export function origins(text: string, context: z.RefinementCtx): string[] {
  const list = entriesOf(text);
  for (const entry of list) {
    const { protocol, origin } = parsedUrl(entry) ?? { protocol: '', origin: '' };
    if (/^https?:$/.test(protocol) && origin === entry) continue;
    context.addIssue({ code: 'custom', message: `"${entry}" is not an origin such as https://app.example.com` });
  }
  return list;
}

export function cidrs(text: string, context: z.RefinementCtx): string[] {
  const list = entriesOf(text);
  for (const entry of list) {
    if (!isCidr(entry)) context.addIssue({ code: 'custom', message: `"${entry}" is not a CIDR block` });
  }
  return list;
}

/** Addresses and CIDRs of proxies. Blocks that together have every address would let every client invent its own. */
export function proxies(text: string, context: z.RefinementCtx): string[] {
  const list = entriesOf(text);
  for (const entry of list) {
    const isWide = isWideBlock(entry);
    if (entry === UNIX_SOCKET || (!isWide && (isPlainIp(entry) || isCidr(entry)))) continue;
    const problem = isWide
      ? 'has too many addresses: name the network of the proxies'
      : `is not an IP address, CIDR block or ${UNIX_SOCKET}`;
    context.addIssue({ code: 'custom', message: `"${entry}" ${problem}` });
  }
  return list;
}

function entriesOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** No network of proxies has more addresses than 10.0.0.0/8 and fc00::/7. */
const WIDEST = { ipv4: 8, ipv6: 7 };

function isWideBlock(entry: string): boolean {
  const [, address = '', bits = ''] = /^(.*)\/(\d+)$/.exec(entry) ?? [];
  // ::ffff:0:0/96 has all IPv4 addresses.
  const mapped = /^::ffff:/i.test(address) ? 96 + WIDEST.ipv4 : WIDEST.ipv6;
  return bits !== '' && Number(bits) < (address.includes(':') ? mapped : WIDEST.ipv4);
}

function isPlainIp(entry: string): boolean {
  return isIP(entry) !== 0 && !entry.includes('%');
}

export function nameServers(text: string, context: z.RefinementCtx): string[] {
  const list = text.split(',').map((entry) => entry.trim());
  for (const entry of list) {
    if (isNameServer(entry)) continue;
    context.addIssue({ code: 'custom', message: `"${entry}" is not ip, ip:port or [ipv6]:port` });
  }
  return list;
}

function isNameServer(entry: string): boolean {
  if (isIP(entry) !== 0) return true;
  const [, ipv6, ipv4, port] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(entry) ?? [];
  return (isIP(ipv4 ?? '') === 4 || isIP(ipv6 ?? '') === 6) && Number(port) >= 1 && Number(port) <= 65_535;
}

function isCidr(entry: string): boolean {
  const [address, bits, ...rest] = entry.split('/');
  if (address === undefined || bits === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  try {
    new BlockList().addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
    return true;
  } catch {
    return false;
  }
}
