import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { decideAfter } from '../pacing/decide-after.ts';
import { type Lookup, NameLookupError, NO_NAME_SERVER } from './resolver.ts';
import { hasGlobalIpv6, openSystemNames, type SystemNames } from './system-names.ts';

interface DnsLookupOptions {
  /** Name servers, as `ip` or `ip:port`; null for those of the system. */
  servers: readonly string[] | null;
  system?: SystemNames | undefined;
  times?: LookupTimes | undefined;
  /** Called when name servers were queried: whether any of them works, for this name or another. */
  onAnswer?: ((works: boolean) => void) | undefined;
}

interface LookupTimes {
  /**
   * A query without an answer is repeated after about twice this time, and again after twice this time. (Node checks
   * its queries in this interval, and at the first check a query is always slightly too young.) If every second packet
   * is lost, two queries of one family may be lost in a row, and that must not cost an attempt.
   */
  repeatMs: number;
  /** Time-out of a look-up, over all search domains and both families. */
  limitMs: number;
  /**
   * A look-up that succeeded within this proves that name servers work. Those of a closed network never answer the
   * question about the root, because the servers above them cannot be reached.
   */
  provenMs: number;
}

const TIMES: LookupTimes = { repeatMs: 500, limitMs: 3000, provenMs: 2000 };
const TRIES = 3;
/** How long the answer for one family waits for the other family. Some name servers never answer AAAA queries. */
const OTHER_FAMILY_MS = 500;

/** Look-ups that fail at the same time share one question about the root. */
const SHARED_MS = 1000;

/** The name does not exist, or has no address of the family. */
const NOT_FOUND = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
/** The name server answered, but failed for this name: the next candidate may succeed. */
const NO_HELP = new Set(['ESERVFAIL', 'EREFUSED', 'ENOTIMP', 'EFORMERR', 'EBADRESP']);

/**
 * Looks names up as `dns.lookup` does (hosts file, search domains, both families), but without its threads. The process
 * has four of those, two of which can look names up, and a silent name server blocks one for 5 to 20 s. Here each
 * look-up has its own sockets, so a slow name server does not delay other look-ups.
 */
export function createDnsLookup({
  servers,
  system = systemNames(),
  times = TIMES,
  onAnswer,
}: DnsLookupOptions): Lookup {
  let workedAt = Number.NEGATIVE_INFINITY;
  /** When a look-up found last that no name server works. */
  let noneWorkedAt = Number.NEGATIVE_INFINITY;
  let probe = { at: Number.NEGATIVE_INFINITY, answers: Promise.resolve(true) };

  async function doWork(): Promise<boolean> {
    const now = performance.now();
    if (now - workedAt < times.provenMs) return true;
    if (now - probe.at >= SHARED_MS) probe = { at: now, answers: answersAnything(servers, times.repeatMs) };
    return probe.answers;
  }

  /** @throws NameLookupError */
  async function lookUp(hostname: string): Promise<LookupAddress[]> {
    const startedAt = performance.now();
    const query = () => queryNameServers(system.candidates(hostname), servers, times);
    for (let isRepeated = false; ; isRepeated = true) {
      try {
        const addresses = await query();
        workedAt = performance.now();
        return addresses;
      } catch (error) {
        if ((error as NameLookupError).code !== 'EAI_AGAIN') throw error;
        if (!(await doWork())) {
          noneWorkedAt = performance.now();
          throw new NameLookupError(NO_NAME_SERVER);
        }
        // They work now, and they may have been silent when they were asked for this name.
        if (isRepeated || noneWorkedAt < startedAt - times.limitMs) throw error;
      }
    }
  }

  return (hostname, _options, callback) => {
    const known = system.addresses(hostname);
    if (known.length > 0) {
      process.nextTick(callback, null, known);
      return;
    }
    lookUp(hostname).then(
      (addresses) => {
        onAnswer?.(true);
        callback(null, addresses);
      },
      (error: NodeJS.ErrnoException) => {
        onAnswer?.(error.code !== NO_NAME_SERVER);
        callback(error, []);
      },
    );
  };
}

function systemNames(): SystemNames {
  const hosts =
    process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';
  return openSystemNames({ hosts, resolvConf: '/etc/resolv.conf' });
}

/**
 * Whether a name server answers a question that has nothing to do with the receiver: who is responsible for the root.
 * One that fails for the receiver's name alone, whose zone may be broken, is the receiver's failure. A refusal is an
 * answer.
 */
async function answersAnything(servers: readonly string[] | null, repeatMs: number): Promise<boolean> {
  const resolver = new Resolver({ timeout: repeatMs, tries: 1 });
  if (servers !== null) resolver.setServers(servers);
  return resolver.resolveNs('.').then(
    () => true,
    ({ code = '' }: NodeJS.ErrnoException) => NOT_FOUND.has(code) || (NO_HELP.has(code) && code !== 'ESERVFAIL'),
  );
}

async function queryNameServers(
  candidates: readonly string[],
  servers: readonly string[] | null,
  { repeatMs, limitMs }: LookupTimes,
): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: repeatMs, tries: TRIES });
  if (servers !== null) resolver.setServers(servers);
  let failure = new NameLookupError('ENOTFOUND');
  let isOver = false;
  const withdrawLimit = decideAfter(limitMs, () => {
    isOver = true;
    resolver.cancel();
  });
  try {
    for (const candidate of candidates) {
      const { addresses, code } = await queryBothFamilies(resolver, candidate);
      if (addresses.length > 0) return addresses;
      if (isOver || !(NOT_FOUND.has(code) || NO_HELP.has(code))) throw new NameLookupError('EAI_AGAIN');
      if (NO_HELP.has(code)) failure = new NameLookupError('EAI_AGAIN');
    }
    throw failure;
  } finally {
    withdrawLimit();
    resolver.cancel();
  }
}

interface Found {
  /** In the order in which the connect tries them. */
  addresses: LookupAddress[];
  /** Error code if there is no address. */
  code: string;
}

/** Resolves when both families are answered, or when one has addresses and the other takes too long. */
function queryBothFamilies(resolver: Resolver, name: string): Promise<Found> {
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
      // A failed query of one family outweighs "no address" of the other.
      if (code === '' || NOT_FOUND.has(code)) code = error.code ?? 'EAI_AGAIN';
      // Also after "no such name": some name servers send it when the name only lacks an address of this family.
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
