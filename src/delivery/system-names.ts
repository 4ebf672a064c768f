import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Names that are resolved from the operating system's files, without a name server. Tests use other files. */
export interface SystemNames {
  /** Addresses of a name in `/etc/hosts`, and of `localhost`; empty if a name server must be queried. */
  addresses(hostname: string): LookupAddress[];
  /** The names to query name servers for, one after the other, with the search domains of `/etc/resolv.conf`. */
  candidates(hostname: string): string[];
}

/** A file is checked for changes after this time. */
const STALE_MS = 5000;
const MAX_NDOTS = 15;
const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

interface Search {
  domains: string[];
  /** A name with fewer dots is looked up in the search domains first. */
  ndots: number;
}

export function openSystemNames(paths: { hosts: string; resolvConf: string }): SystemNames {
  const hosts = keepRead(paths.hosts, parseHosts);
  const search = keepRead(paths.resolvConf, parseSearch);
  return {
    addresses(hostname) {
      const name = hostname.toLowerCase().replace(/\.$/, '');
      // RFC 6761: these names resolve to loopback, whatever name servers return.
      const isLocal = name === 'localhost' || name.endsWith('.localhost');
      return [...(hosts().get(name) ?? (isLocal ? LOOPBACK : []))];
    },
    candidates(hostname) {
      if (hostname.endsWith('.')) return [hostname];
      const { domains, ndots } = search();
      const inDomains = domains.map((domain) => `${hostname}.${domain}`);
      const dots = hostname.split('.').length - 1;
      return dots >= ndots ? [hostname, ...inDomains] : [...inDomains, hostname];
    },
  };
}

/** Whether this machine has a global IPv6 address; IPv6 addresses are then tried first (RFC 6724). */
export function hasGlobalIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address, family, internal }) => family === 'IPv6' && !internal && /^[23]/.test(address)),
  );
}

/**
 * Returns a function that returns the parsed text of a file, and reads it again after a change.
 * A missing file counts as empty.
 */
function keepRead<T>(path: string, parse: (text: string) => T): () => T {
  let parsed = parse('');
  let changedAt = Number.NaN;
  let checkedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - checkedAt < STALE_MS) return parsed;
    checkedAt = performance.now();
    try {
      const { mtimeMs } = statSync(path);
      if (mtimeMs !== changedAt) parsed = parse(readFileSync(path, 'utf8'));
      changedAt = mtimeMs;
    } catch {
      parsed = parse('');
      changedAt = Number.NaN;
    }
    return parsed;
  };
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const [address = '', ...names] of wordsOfLines(text)) {
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = hosts.get(key) ?? [];
      if (!known.some((entry) => entry.address === address)) hosts.set(key, [...known, { address, family }]);
    }
  }
  return hosts;
}

function parseSearch(text: string): Search {
  const search: Search = { domains: [], ndots: 1 };
  for (const [keyword, ...words] of wordsOfLines(text)) {
    // The last of several such lines wins.
    if (keyword === 'search' || keyword === 'domain') {
      search.domains = words.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '');
    }
    for (const word of keyword === 'options' ? words : []) {
      const ndots = /^ndots:(\d+)$/.exec(word)?.[1];
      if (ndots !== undefined) search.ndots = Math.min(Number(ndots), MAX_NDOTS);
    }
  }
  return search;
}

function wordsOfLines(text: string): string[][] {
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .split(/\s+/)
      .filter((word) => word !== ''),
  );
}
