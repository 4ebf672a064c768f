import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { atEndOfFile } from './end-of-file.ts';

/**
 * `before`: the service never gets the request. `after`: it does, and its answer is lost.
 * A number: the proxy answers it.
 */
export type Fault = 'cut before' | 'cut after' | 'none' | 429 | 502 | 503 | 504;

export interface FlakyProxy {
  readonly url: string;
  /** Method and path of every request. */
  readonly requests: string[];
  /** The faults of the next requests, in turn; then there are no more. */
  fail(...faults: Fault[]): void;
  /** The fault of every request from now on. */
  failAlways(fault: Fault): void;
}

/** Stands between a client and a real service, and loses what a network would lose. */
export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  const requests: string[] = [];
  let faults: Fault[] = [];
  let otherwise: Fault = 'none';

  const server = createServer(async (req, res) => {
    requests.push(`${req.method} ${req.url}`);
    const fault = faults.shift() ?? otherwise;
    const body = await buffer(req);
    if (fault === 'cut before') return res.destroy();
    if (typeof fault === 'number') return res.writeHead(fault).end('<html>');
    const answer = await fetch(`${target}${req.url}`, {
      method: req.method ?? '',
      headers: { authorization: req.headers.authorization ?? '', 'content-type': 'application/json' },
      ...(body.length === 0 ? {} : { body }),
    }).catch(() => null);
    // The service is gone: a test file has ended with requests open.
    if (answer === null) return res.destroy();
    const text = await answer.text();
    if (fault === 'cut after') return res.destroy();
    return res.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEndOfFile(() => {
    server.close();
    server.closeAllConnections();
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fail: (...next) => {
      faults = next;
    },
    failAlways: (fault) => {
      otherwise = fault;
    },
  };
}
