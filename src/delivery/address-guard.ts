import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import type { Lookup } from './resolver.ts';

/**
 * Keeps deliveries away from addresses that are not public (R3 to R6). Three checks are
 * needed, because each alone can be bypassed: a literal address in the URL (undici calls no resolver for it), every
 * address that a resolver returns, and the address to which the socket is really connected.
 */

type Cidr<Address> = readonly [Address, number];

/** Addresses that ipaddr.js calls "unicast" but that are not public: cloud platform and anycast services (R3). */
const REFUSED_IPV4 = ['168.63.129.16/32', '192.31.196.0/24', '192.52.193.0/24', '192.175.48.0/24'].map((cidr) =>
  ipaddr.IPv4.parseCIDR(cidr),
);

/** All addresses that IANA has assigned for public use; ipaddr.js also calls the unassigned ones unicast (R3). */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Protocol assignments, documentation, 6to4 and AS112: not public hosts, or a way to IPv4 addresses (R3). */
const REFUSED_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '2620:4f:8000::/48'].map((cidr) =>
  ipaddr.IPv6.parseCIDR(cidr),
);

/** Whether the text is an IP address that is public on the internet (R3). */
export function isPublicAddress(ip: string): boolean {
  const address = parseAddress(ip);
  return address !== null && isPublic(address);
}

export interface AddressGuard {
  /** Whether deliveries may connect to this IP address: it is public, or on the operator's allow-list (R6). */
  allows(ip: string): boolean;
}

/** @throws Error naming the entry that is not a CIDR */
export function createAddressGuard({ allowCidrs }: { allowCidrs: string[] }): AddressGuard {
  const allowedIpv4: Cidr<ipaddr.IPv4>[] = [];
  const allowedIpv6: Cidr<ipaddr.IPv6>[] = [];
  for (const cidr of allowCidrs) {
    if (ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr)) allowedIpv4.push(ipaddr.IPv4.parseCIDR(cidr));
    else if (ipaddr.IPv6.isValidCIDR(cidr)) allowedIpv6.push(ipaddr.IPv6.parseCIDR(cidr));
    else throw new Error(`not a CIDR: "${cidr}"`);
  }
  return {
    allows(ip) {
      const address = parseAddress(ip);
      if (address === null) return false;
      const isAllowed =
        address.kind() === 'ipv4'
          ? isInside(address as ipaddr.IPv4, allowedIpv4)
          : isInside(address as ipaddr.IPv6, allowedIpv6);
      return isAllowed || isPublic(address);
    },
  };
}

/** The refusal. It names no address, so that callers do not learn what a name resolves to inside the network (R2). */
export class AddressNotAllowedError extends Error {
  override readonly name = 'AddressNotAllowedError';

  constructor() {
    super('address not allowed');
  }
}

/** Returns a look-up for `net.connect` that fails unless every address of the answer is allowed (R4). */
function guardLookup(guard: AddressGuard, lookup: Lookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      const first = addresses?.[0];
      if (error !== null) callback(error, '');
      else if (first === undefined || !addresses.every(({ address }) => guard.allows(address))) {
        callback(new AddressNotAllowedError(), '');
      } else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/**
 * Time to connect to one of several addresses before the next one is tried as well. Node's default of 250 ms is less
 * than a round trip around the world. A broken IPv6 route costs this time once per connection.
 */
const NEXT_ADDRESS_MS = 1000;

interface ConnectorOptions {
  /** Time-out for connecting, including TLS. */
  timeoutMs: number;
  lookup: Lookup;
  /** Certificate authorities to trust instead of Node's own list. */
  ca?: string | undefined;
  /** Makes the connector that opens sockets with the guarded look-up. Tests pass one that never connects. */
  dial?: ((lookup: LookupFunction) => buildConnector.connector) | undefined;
}

/** Connects sockets for undici, and only to addresses that the guard allows. */
export function createGuardedConnector(guard: AddressGuard, options: ConnectorOptions): buildConnector.connector {
  const lookup = guardLookup(guard, options.lookup);
  const connect = options.dial?.(lookup) ?? dialFor(lookup, options);
  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !guard.allows(host)) {
      callback(new AddressNotAllowedError(), null);
      return;
    }
    connect(target, (error, socket) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const { remoteAddress } = socket as { remoteAddress?: string };
      if (remoteAddress !== undefined && guard.allows(remoteAddress)) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      // A socket without a remote address is closed already, so its address is unknown.
      callback(remoteAddress === undefined ? closedError() : new AddressNotAllowedError(), null);
    });
  };
}

function dialFor(lookup: LookupFunction, { timeoutMs, ca }: ConnectorOptions): buildConnector.connector {
  return buildConnector({
    timeout: timeoutMs,
    lookup,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    // Verification must not depend on NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    // A resumed session is not verified again, so an expired certificate would do until the process ends.
    maxCachedSessions: 0,
    ...(ca === undefined ? {} : { ca }),
  } as buildConnector.BuildOptions);
}

function closedError(): Error {
  return Object.assign(new Error('connection closed'), { code: 'ECONNRESET' });
}

/** Parses an IP address, an IPv4-mapped IPv6 address as IPv4. Returns null for any other text. */
function parseAddress(ip: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // ipaddr.js alone would also accept "0x7f.1" and similar forms.
  return isIP(ip) === 0 ? null : ipaddr.process(ip);
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return !isInside(address as ipaddr.IPv4, REFUSED_IPV4);
  const ipv6 = address as ipaddr.IPv6;
  return isInside(ipv6, [PUBLIC_IPV6]) && !isInside(ipv6, REFUSED_IPV6);
}

function isInside<Address extends ipaddr.IPv4 | ipaddr.IPv6>(
  address: Address,
  cidrs: readonly Cidr<Address>[],
): boolean {
  return cidrs.some(([network, bits]) => address.match(network, bits));
}
