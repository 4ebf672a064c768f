import { request } from 'node:http';

/**
 * The status of a GET, on a connection of its own.
 * @param base of HTTP, or of a unix socket as `unix:/path`
 */
export function statusOf(base: string, path: string): Promise<number | undefined> {
  const { hostname: host, port } = base.startsWith('unix:') ? { hostname: '', port: '' } : new URL(base);
  const to = base.startsWith('unix:') ? { socketPath: base.slice('unix:'.length) } : { host: bare(host), port };
  return new Promise((resolve, reject) => {
    request({ ...to, path, agent: false }, (res) => resolve(res.resume().statusCode))
      .once('error', reject)
      .end();
  });
}

/** Whether the service at this address takes work. */
export async function isReady(base: string): Promise<boolean> {
  return (await statusOf(base, '/readyz')) === 200;
}

/** An IPv6 address in a URL has brackets. */
function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
