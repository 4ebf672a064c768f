import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from './random.ts';
import type { Outcome } from './records.ts';

export interface Answered {
  /** Address of the process that was called; null if none ran. */
  to: string | null;
  invokedAt: number;
  endedAt: number;
  outcome: Outcome;
  status: number | null;
  body: unknown;
}

/** A client: calls any API process that runs, and records unknown outcomes as such. */
export interface Client {
  call(method: string, path: string, body?: string, baseUrl?: string): Promise<Answered>;
  /** Sends requests on one connection without waiting for answers, and breaks it after a time. */
  pipeline(path: string, bodies: readonly string[], baseUrl: string, breakAfterMs: number): Promise<Answered>;
  /** Calls to this API without an answer yet. */
  underWay(baseUrl: string): number;
  /** The number of calls under way over all of them. */
  underWayAll(): number;
}

const PATIENCE_MS = 20_000;

export function createClient(options: { key: string; baseUrls: () => string[]; random: Random }): Client {
  const open = new Map<string, number>();
  const count = (baseUrl: string, by: number) => open.set(baseUrl, (open.get(baseUrl) ?? 0) + by);

  async function call(method: string, path: string, body?: string, chosen?: string): Promise<Answered> {
    const invokedAt = Date.now();
    const baseUrls = options.baseUrls();
    const baseUrl = chosen ?? (baseUrls.length === 0 ? undefined : options.random.pick(baseUrls));
    if (baseUrl === undefined) {
      return { to: null, invokedAt, endedAt: invokedAt, outcome: 'fail', status: null, body: null };
    }
    count(baseUrl, 1);
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${options.key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const text = await response.text();
      const { status } = response;
      // A 5xx may follow from a database connection that broke just after the commit.
      const outcome = status < 300 ? 'ok' : status < 500 ? 'fail' : 'indeterminate';
      const parsed = text === '' ? null : JSON.parse(text);
      return { to: baseUrl, invokedAt, endedAt: Date.now(), outcome, status, body: parsed };
    } catch (error) {
      // Without a listener nothing was sent; after any other error the service may have read the request.
      const outcome = codeOf(error) === 'ECONNREFUSED' ? 'fail' : 'indeterminate';
      return { to: baseUrl, invokedAt, endedAt: Date.now(), outcome, status: null, body: null };
    } finally {
      count(baseUrl, -1);
    }
  }

  async function pipeline(path: string, bodies: readonly string[], baseUrl: string, breakAfterMs: number) {
    const { hostname, port } = new URL(baseUrl);
    const invokedAt = Date.now();
    const head = `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${options.key}\r\ncontent-type: application/json`;
    const socket = connect(Number(port), hostname);
    // The process may be gone, or take no more of them.
    socket.on('error', () => undefined);
    for (const body of bodies) socket.write(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    await wait(breakAfterMs);
    socket.destroy();
    const answered: Answered = {
      to: baseUrl,
      invokedAt,
      endedAt: Date.now(),
      outcome: 'indeterminate',
      status: null,
      body: null,
    };
    return answered;
  }

  return {
    call,
    pipeline,
    underWay: (baseUrl) => open.get(baseUrl) ?? 0,
    underWayAll: () => [...open.values()].reduce((sum, n) => sum + n, 0),
  };
}

function codeOf(error: unknown): string | undefined {
  return (error as { cause?: { code?: string } }).cause?.code;
}
