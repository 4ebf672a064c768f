import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type AppOptions, createApp, type ListenOptions, listen } from '../../src/http/index.ts';
import { type Call, fakeServices, KEY, type Overrides } from './fake-services.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
}

export interface Sent {
  /** `undefined` takes a default header away. */
  headers?: Record<string, string | string[] | undefined>;
  body?: string | Buffer | readonly (string | Buffer)[];
}

export interface Api {
  url: URL;
  calls: Call[];
  logged: { fields: object; message: string }[];
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  /** Opens a bare connection; everything that comes back until it ends is in `received`. */
  raw(text: string): RawConnection;
  close(): Promise<void>;
}

export interface RawConnection {
  socket: Socket;
  received: Promise<string>;
}

type Setup = Partial<Omit<AppOptions, 'services' | 'config'>> & {
  services?: Overrides;
  config?: Partial<AppOptions['config']>;
  timeouts?: ListenOptions['timeouts'];
  connections?: number;
  watch?: ListenOptions['watch'];
};

/** The real app on a free port of 127.0.0.1, closed when the test is over. */
export async function startApi(setup: Setup = {}): Promise<Api> {
  const { services, calls } = fakeServices(setup.services ?? {});
  const logged: Api['logged'] = [];
  const app = createApp({
    readiness: async () => ({ ready: true, checks: { database: 'ok' } }),
    log: { error: (fields, message) => logged.push({ fields, message }) },
    ...setup,
    config: { maxBodyBytes: 4096, signatureHeader: 'x-service-signature', templates: { one: {} }, ...setup.config },
    services,
  });
  const server = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    timeouts: { grace: 1_000, ...setup.timeouts },
    ...(setup.connections !== undefined && { connections: setup.connections }),
    ...(setup.watch !== undefined && { watch: setup.watch }),
  });
  const url = new URL(server.url);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= server.close();
    return closed;
  };
  return {
    url,
    calls,
    logged,
    close,
    send: (method, path, sent = {}) => send(url, method, path, sent),
    raw: (text) => openRaw(url, text),
  };
}

/** For one test: started, and closed when the test ends. */
export async function testApi(setup: Setup = {}): Promise<Api> {
  const api = await startApi(setup);
  onTestFinished(api.close);
  return api;
}

function send(url: URL, method: string, path: string, { headers = {}, body }: Sent): Promise<Answer> {
  const chunks = body === undefined ? [] : [body].flat();
  const all: OutgoingHttpHeaders = { authorization: `Bearer ${KEY}` };
  if (body !== undefined) all['content-type'] = 'application/json';
  // An array of chunks goes out without a length, as a stream would.
  if (!Array.isArray(body)) all['content-length'] = chunks.reduce((sum, chunk) => sum + Buffer.byteLength(chunk), 0);
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) delete all[name];
    else all[name] = value;
  }
  return new Promise((resolve, reject) => {
    const req = request({ host: url.hostname, port: url.port, agent: false, method, path, headers: all });
    req.once('error', reject);
    req.once('response', (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.once('error', reject);
      res.once('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        const json = text === '' ? undefined : JSON.parse(text);
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json });
      });
    });
    for (const chunk of chunks) req.write(chunk);
    req.end();
  });
}

export function openRaw(url: URL, text: string): RawConnection {
  const socket = connect(Number(url.port), url.hostname);
  const received = new Promise<string>((resolve) => {
    let all = '';
    socket.on('data', (data) => {
      all += data.toString('latin1');
    });
    // A reset is a way to end, too; what came before it is what counts.
    socket.once('error', () => undefined);
    socket.once('close', () => resolve(all));
  });
  socket.write(text, 'latin1');
  return { socket, received };
}
