import { existsSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { afterAll } from 'vitest';

/**
 * Serves the built dashboard before the API, and signs every request in with a key, until the API process serves the
 * dashboard and has sessions.
 */

const BUILT = join(import.meta.dirname, '../../dist/dashboard');
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'none'; " +
  "base-uri 'self'; form-action 'self'; frame-ancestors 'none'";
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

export interface Front {
  url: string;
  /** Sends requests from now on to a process at this address. */
  pointTo(baseUrl: string): void;
}

export async function startFront(baseUrl: string, key: string): Promise<Front> {
  if (!existsSync(join(BUILT, 'index.html'))) throw new Error('dist/dashboard is missing: run `npm run build` first');
  let target = new URL(baseUrl);
  const server = createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '/', 'http://front');
    const file = join(BUILT, pathname);
    if (/^\/(graphql|session|v1)/.test(pathname)) {
      const headers = { ...req.headers, authorization: `Bearer ${key}`, host: target.host, origin: target.origin };
      const passed = request({ host: target.hostname, port: target.port, path: req.url, method: req.method, headers });
      passed.on('response', (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
        answer.on('error', () => res.destroy());
        answer.on('close', () => res.destroy());
      });
      passed.on('error', () => res.destroy());
      res.on('close', () => passed.destroy());
      req.pipe(passed);
    } else if (pathname !== '/' && file.startsWith(BUILT) && existsSync(file)) {
      res.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
      res.end(readFileSync(file));
    } else {
      res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY });
      res.end(readFileSync(join(BUILT, 'index.html')));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pointTo: (next) => {
      target = new URL(next);
    },
  };
}
