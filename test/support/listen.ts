import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { atEndOfFile } from './end-of-file.ts';

/** Returns its address. Closes by itself when the test file is done. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEndOfFile(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves a Fetch API handler on Node, as a framework does. */
export function asListener(handle: (request: Request) => Promise<Response>): RequestListener {
  return async (req, res) => {
    const response = await handle(toRequest(req));
    await writeTo(res, response);
  };
}

function toRequest(req: IncomingMessage): Request {
  const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const body = Readable.toWeb(req) as ReadableStream<Uint8Array>;
  // Node wants it for a body that streams; its types do not know it.
  const halfDuplex = { duplex: 'half' };
  return new Request(`http://localhost${req.url}`, { method: req.method ?? '', headers, body, ...halfDuplex });
}

async function writeTo(res: ServerResponse, response: Response): Promise<void> {
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.end(await response.text());
}
