import { isIP } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { type AddressGuard, AddressNotAllowedError } from './address-guard.ts';

interface ProxiedConnector {
  connect: buildConnector.connector;
  close(): Promise<void>;
}

/**
 * Connects sockets for undici through an HTTP proxy that the operator named (R7 of reliability.md section 5), always by
 * a tunnel, so that requests, signatures and certificates are those of a direct connection. The proxy resolves names
 * and dials, so only it can judge what a name leads to, and it has to. Addresses written in a URL are judged here too.
 */
export function createProxiedConnector(
  guard: AddressGuard,
  { proxyUrl, timeoutMs, ca }: { proxyUrl: string; timeoutMs: number; ca?: string | undefined },
): ProxiedConnector {
  const { origin, username, password } = new URL(proxyUrl);
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const authorization = username === '' ? {} : { 'proxy-authorization': `Basic ${credentials}` };
  const proxy = new Pool(origin, { connect: { timeout: timeoutMs }, headersTimeout: timeoutMs });
  const secure = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  } as buildConnector.BuildOptions);

  async function tunnelTo({ hostname, protocol, port }: buildConnector.Options) {
    const path = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
    const { socket, statusCode } = await proxy.connect({ path, headers: { host: path, ...authorization } });
    if (statusCode === 200) return socket;
    socket.on('error', () => undefined).destroy();
    throw statusCode === 403 ? new AddressNotAllowedError() : new Error(`the proxy answered ${statusCode}`);
  }

  return {
    connect(target, callback) {
      if (!isSpeakable(target.hostname.replace(/^\[|\]$/g, ''), guard)) {
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

/** `localhost` is a name to a proxy, and would be the proxy's own host. */
function isSpeakable(host: string, guard: AddressGuard): boolean {
  if (isIP(host) !== 0) return guard.judge(host);
  return !/(^|\.)localhost\.?$/i.test(host) || guard.judge('127.0.0.1');
}
