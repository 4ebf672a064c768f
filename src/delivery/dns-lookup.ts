import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { type Lookup, NameLookupError } from './resolver.ts';
import { hasGlobalIpv6, openSystemNames, type SystemNames } from './system-names.ts';

interface DnsLookupOptions {
  /** Name servers, as `ip` or `ip:port`; null for the system's. */
  servers: readonly string[] | null;
  system?: SystemNames | undefined;
  times?: LookupTimes | undefined;
}

interface LookupTimes {
  /**
   * A query that has got no answer is repeated after about twice this (Node looks at its queries so often, and finds the
   * first time that a moment is missing), and again after twice this. Where every second packet is lost, two of one
   * family may be lost in a row, and that must not cost an attempt.
   */
  repeatMs: number;
  /** Bound of a look-up, search domains and both families together. */
  limitMs: number;
}

const TIMES: LookupTimes = { repeatMs: 500, limitMs: 3000 };
const TRIES = 3;
/** How long the answer for one family waits for the other. Some name servers never answer AAAA. */
const OTHER_FAMILY_MS = 500;

/** Of names that there are not, or that have no address of the family. */
const NOT_FOUND = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
/** A name server answers, and has trouble with this name: the next candidate may do. */
const NO_HELP = new Set(['ESERVFAIL', 'EREFUSED', 'ENOTIMP', 'EFORMERR', 'EBADRESP']);

/**
 * Looks names up as `dns.lookup` does (hosts file, search domains, both families), but without its threads: those are
 * four for the whole process, of which two look names up, and a name server that is silent holds one for 5 to 20 s. Each
 * look-up has sockets of its own, so what one name server does is nothing to other look-ups.
 */
export function createDnsLookup({ servers, system = systemNames(), times = TIMES }: DnsLookupOptions): Lookup {
  return (hostname, _options, callback) => {
    const known = system.addresses(hostname);
    if (known.length > 0) {
      process.nextTick(callback, null, known);
      return;
    }
    askNameServers(system.candidates(hostname), servers, times).then(
      (addresses) => callback(null, addresses),
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

function systemNames(): SystemNames {
  const hosts =
    process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';
  return openSystemNames({ hosts, resolvConf: '/etc/resolv.conf' });
}

async function askNameServers(
  candidates: readonly string[],
  servers: readonly string[] | null,
  { repeatMs, limitMs }: LookupTimes,
): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: repeatMs, tries: TRIES });
  if (servers !== null) resolver.setServers(servers);
  let failure = new NameLookupError('ENOTFOUND');
  let isOver = false;
  const limit = setTimeout(() => {
    isOver = true;
    resolver.cancel();
  }, limitMs);
  try {
    for (const candidate of candidates) {
      const { addresses, code } = await askBothFamilies(resolver, candidate);
      if (addresses.length > 0) return addresses;
      if (isOver || !(NOT_FOUND.has(code) || NO_HELP.has(code))) throw new NameLookupError('EAI_AGAIN');
      if (NO_HELP.has(code)) failure = new NameLookupError('EAI_AGAIN');
    }
    throw failure;
  } finally {
    clearTimeout(limit);
    resolver.cancel();
  }
}

interface Found {
  /** In the order in which they are to be tried. */
  addresses: LookupAddress[];
  /** Why there is none. */
  code: string;
}

/** Resolves when both families are known, or one is and the other takes long. */
function askBothFamilies(resolver: Resolver, name: string): Promise<Found> {
  return new Promise((resolve) => {
    const found: LookupAddress[] = [];
    let code = '';
    let missing = 2;
    let grace: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(grace);
      const first = hasGlobalIpv6() ? 6 : 4;
      resolve({ addresses: found.sort((a, b) => Number(b.family === first) - Number(a.family === first)), code });
    };
    const answered = (addresses: readonly string[], family: number) => {
      found.push(...addresses.map((address) => ({ address, family })));
      missing -= 1;
      if (missing === 0) end();
      else if (addresses.length > 0) grace = setTimeout(end, OTHER_FAMILY_MS);
    };
    const failed = (error: NodeJS.ErrnoException, family: number) => {
      // What a family says that could not be asked weighs more than that the other has no address.
      if (code === '' || NOT_FOUND.has(code)) code = error.code ?? 'EAI_AGAIN';
      // Even when there is no such name: some name servers say so when it only has no address of this family.
      answered([], family);
    };
    resolver.resolve4(name).then(
      (addresses) => answered(addresses, 4),
      (error) => failed(error, 4),
    );
    resolver.resolve6(name).then(
      (addresses) => answered(addresses, 6),
      (error) => failed(error, 6),
    );
  });
}
