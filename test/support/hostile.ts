import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, expect } from 'vitest';
import type { Api, ApiQueue } from './api.ts';
import { assertDocumented } from './openapi.ts';
import type { Jobferry } from './process.ts';
import type { Receiver } from './receiver.ts';
import { openReceiver, startServiceProcess } from './service.ts';

export interface HostileAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: hostile input is answered in every shape
  body: any;
  text: string;
  headers: Headers;
}

export interface RawConnection {
  socket: Socket;
  /** Everything that came back, once the connection has ended. */
  received: Promise<string>;
}

/** A service that is ill-treated, and what it must take unharmed. */
export interface Victim {
  api: Api;
  jobferry: Jobferry;
  receiver: Receiver;
  /** In ack mode, with a job that waits for its report for ever. */
  queue: ApiQueue;
  jobId: string;
  /** @param headers beside authorization; null leaves one away */
  send(
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers?: Record<string, string | null>,
  ): Promise<HostileAnswer>;
  /** Opens a bare connection and writes the text, byte for character. */
  raw(text: string): RawConnection;
}

/** `BOOTSTRAP_API_KEY` of `startServiceProcess`. */
export const KEY = 'key-of-the-bootstrap-account';

/**
 * One service for a test file. After each of its tests the same process must be alive and answer,
 * and must not have met anything that it did not expect (I-39).
 */
export function startVictim(env: Record<string, string> = {}): Victim {
  const victim = { send, raw } as Victim;

  beforeAll(async () => {
    const { api, jobferry } = await startServiceProcess(env);
    const receiver = await openReceiver();
    const settings = { mode: 'ack', ackTimeout: 86_400, maxAttempts: 25, backoffDelay: 0 };
    const queue = await api.createQueue({ name: 'victim', webhookUrl: receiver.url, ...settings });
    const { id: jobId } = await api.publish(queue.name, { payload: { waits: true } });
    await api.waitForStatus(jobId, 'awaiting_ack');
    Object.assign(victim, { api, jobferry, receiver, queue, jobId });
  });

  afterEach(async () => {
    const { jobferry } = victim;
    process.kill(jobferry.pid, 0); // throws when it is gone
    expect((await fetch(`${jobferry.baseUrl}/healthz`)).status).toBe(200);
    expect(jobferry.logs.filter((line) => line.level === 'error')).toEqual([]);
  });

  async function send(
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers: Record<string, string | null> = {},
  ): Promise<HostileAnswer> {
    const all = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers };
    const response = await fetch(`${victim.jobferry.baseUrl}${path}`, {
      method,
      headers: Object.fromEntries(
        Object.entries(all).filter((header): header is [string, string] => header[1] !== null),
      ),
      // Bytes, because `fetch` would give a string a content type of its own.
      ...(body === undefined ? {} : { body: new Uint8Array(typeof body === 'string' ? Buffer.from(body) : body) }),
    });
    const text = await response.text();
    const { status } = response;
    const sent = body === undefined ? body : Buffer.from(body).toString();
    assertDocumented(method, response.url, { status, headers: response.headers, text }, sent);
    if (status !== 204) expect(response.headers.get('content-type'), text).toContain('application/json');
    return { status, text, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  function raw(text: string): RawConnection {
    const { hostname, port } = new URL(victim.jobferry.baseUrl);
    const socket = connect(Number(port), hostname);
    const received = new Promise<string>((resolve) => {
      let all = '';
      socket.on('data', (data) => {
        all += data.toString('latin1');
      });
      socket.once('error', () => undefined); // a reset is a way to end, too
      socket.once('close', () => resolve(all));
    });
    socket.write(text, 'latin1');
    return { socket, received };
  }

  return victim;
}

/** Status and JSON body of the last answer in what came over a connection. */
export function lastAnswer(received: string): { status: number; body: unknown } {
  const [head = '', body = ''] = received.slice(received.lastIndexOf('HTTP/1.1 ')).split('\r\n\r\n');
  expect(head.toLowerCase(), received).toContain('content-type: application/json');
  return { status: Number(head.slice(9, 12)), body: JSON.parse(body) };
}
