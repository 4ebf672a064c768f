import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** A reverse proxy in front of a real server, which serves it below a path, and nothing beside that path. */
export interface PathProxy {
  /** The address of the served path in browsers, with a slash at its end. */
  readonly url: string;
  /** Requests beside the path, which the proxy answers itself with 404. */
  readonly strays: string[];
  pointTo(target: string): void;
}

/**
 * @param path with a slash at its end
 * @param removes whether the path is removed from requests that are passed on
 */
export async function startPathProxy(path: string, { removes }: { removes: boolean }): Promise<PathProxy> {
  const strays: string[] = [];
  let target: URL | null = null;
  const server = createServer((req, res) => {
    const { url = '' } = req;
    if (target === null || !url.startsWith(path)) {
      strays.push(`${req.method} ${url}`);
      res.writeHead(404, { 'content-type': 'text/plain' }).end('not here');
      return;
    }
    pass(target, removes ? `/${url.slice(path.length)}` : url, req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    strays,
    pointTo: (address) => {
      target = new URL(address);
    },
  };
}

/**
 * Passes a request on as proxies do: with the `Host` of the client, and its address at the end of `X-Forwarded-For`.
 */
function pass(target: URL, path: string, req: IncomingMessage, res: ServerResponse): void {
  const client = req.socket.remoteAddress ?? '';
  const before = [req.headers['x-forwarded-for'] ?? []].flat();
  const headers = { ...req.headers, 'x-forwarded-for': [...before, client].join(', ') };
  const { hostname, port } = target;
  const passed = request({ hostname, port, path, method: req.method, headers, agent: false });
  passed.once('response', (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
    // A stream of events has no end of its own.
    answer.once('error', () => res.destroy());
  });
  passed.once('error', () => res.destroy());
  res.once('close', () => passed.destroy());
  req.pipe(passed);
}
