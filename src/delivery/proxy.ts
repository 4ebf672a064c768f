import { isIP } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { type AddressGuard, AddressNotAllowedError } from './address-guard.ts';

/** The proxy itself cannot be used, so no receiver can be reached. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

/**
 * Time in which the proxy must take a connection: less than a delivery has,
 * so that a proxy that is gone is known as such.
 */
const CONNECT_MS = 3000;
/** Answers by which a proxy says that it could not reach the receiver. */
const RECEIVERS: readonly number[] = [502, 503, 504];
/**
 * Another refusal is the proxy's own failure only if it has opened no tunnel for this long. A proxy that opens tunnels
 * for others refuses this receiver: smokescreen answers 407 for an address that it forbids, and a client chooses the
 * address.
 */
const OPENS_TUNNELS_MS = 300_000;

interface ProxiedConnector {
  connect: buildConnector.connector;
  close(): Promise<void>;
}

/**
 * Connects sockets for undici through an HTTP proxy that the operator configured (R7). It
 * always opens a tunnel, so that requests, signatures and certificates are those of a direct connection. The proxy
 * resolves names and connects, so only the proxy can refuse a name's addresses, and it must. A literal address in a URL
 * is checked here as well.
 */
export function createProxiedConnector(
  guard: AddressGuard,
  { proxyUrl, timeoutMs, ca }: { proxyUrl: string; timeoutMs: number; ca?: string | undefined },
): ProxiedConnector {
  const { origin, username, password } = new URL(proxyUrl);
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const authorization = username === '' ? {} : { 'proxy-authorization': `Basic ${credentials}` };
  const timeout = Math.min(CONNECT_MS, timeoutMs / 2);
  const proxy = new Pool(origin, { connect: toProxy(buildConnector({ timeout })), headersTimeout: timeoutMs });
  const secure = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: true,
    // As for connections without a proxy: each verifies the certificate.
    maxCachedSessions: 0,
    ...(ca === undefined ? {} : { ca }),
  } as buildConnector.BuildOptions);

  let openedAt = Number.NEGATIVE_INFINITY;

  async function tunnelTo({ hostname, protocol, port }: buildConnector.Options) {
    // undici passes an IPv6 address without its brackets.
    const host = hostname.includes(':') ? `[${hostname.replace(/^\[|\]$/g, '')}]` : hostname;
    const path = `${host}:${port || (protocol === 'https:' ? '443' : '80')}`;
    const headers = { host: path, ...authorization };
    const { socket, statusCode } = await proxy.connect({ path, headers });
    if (statusCode === 200) {
      openedAt = performance.now();
      return socket;
    }
    socket.on('error', () => undefined).destroy();
    const opensOthers = performance.now() - openedAt < OPENS_TUNNELS_MS;
    if (statusCode === 403 || (opensOthers && statusCode === 407)) throw new AddressNotAllowedError();
    const message = `the proxy answered ${statusCode}`;
    throw opensOthers || RECEIVERS.includes(statusCode) ? new Error(message) : new ProxyError(message);
  }

  return {
    connect(target, callback) {
      if (!mayRequest(target.hostname.replace(/^\[|\]$/g, ''), guard)) {
        callback(new AddressNotAllowedError(), null);
        return;
      }
      tunnelTo(target).then(
        (socket) => {
          if (target.protocol === 'https:') secure({ ...target, httpSocket: socket as never }, callback);
          else callback(null, socket as never);
        },
        (error: Error) => callback(error, null),
      );
    },
    close: () => proxy.destroy(),
  };
}

/** Limits of this process, which have names of their own. */
const OWN_LIMITS: readonly (string | undefined)[] = ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL'];

/**
 * Makes a `ProxyError` of a failed connection to the proxy, its certificate included, to tell it from failures in the
 * tunnel.
 */
function toProxy(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else if (OWN_LIMITS.includes((error as NodeJS.ErrnoException).code)) callback(error, null);
      else callback(new ProxyError('the proxy cannot be reached', { cause: error }), null);
    });
}

/** Whether a tunnel to this host may be requested. The proxy would resolve `localhost` to its own host. */
function mayRequest(host: string, guard: AddressGuard): boolean {
  if (isIP(host) !== 0) return guard.allows(host);
  return !/(^|\.)localhost\.?$/i.test(host) || guard.allows('127.0.0.1');
}
