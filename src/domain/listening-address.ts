/** Longest path of a unix socket on all systems that have them. */
export const MAX_SOCKET_PATH = 103;

/** Whether a value of HOST is the path of a unix socket. Names and addresses contain no slash. */
export function isSocketPath(host: string): boolean {
  return host.startsWith('/');
}

/** Returns the base address of a server, such as `http://127.0.0.1:8080` or `unix:/run/jobferry/api.sock`. */
export function boundUrl(host: string, port: number): string {
  if (isSocketPath(host)) return `unix:${host}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Returns the address at which people on this machine reach a server; null for a unix socket. A server on all addresses
 * is also on that of this machine.
 * @param bound as `boundUrl` returns it
 */
export function localUrl(bound: string): string | null {
  if (bound.startsWith('unix:')) return null;
  return `${bound.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')}/`;
}
