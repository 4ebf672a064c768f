import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import express from 'express';
import type fc from 'fast-check';
import { expect, onTestFinished, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { assertNotSuspended } from '../../src/domain/account.ts';
import { JobferryError, notFound, unavailable } from '../../src/domain/errors.ts';
import { createAccessLog, TrustedProxies } from '../../src/http/index.ts';
import { counts } from '../../src/telemetry/counts/counts.ts';
import type { Tally } from '../../src/telemetry/counts/tally.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startApi } from './fake-api.ts';
import { account, CREATED_AT, ID, KEY, type Overrides, job as wholeJob } from './fake-services.ts';
import { fuzz } from './fuzz.ts';

/** Two services that differ in one thing: the second one sends every publish and every ack the full way. */

const limited = (rights: Partial<Account['rights']>): Account => ({
  ...account,
  rights: { scopes: ['publish'], queues: [], expiresAt: null, ...rights },
});
export const KEYS: Readonly<Record<string, Account>> = {
  [KEY]: account,
  publisher: limited({}),
  'of-mails': limited({ queues: ['mails'] }),
  reader: limited({ scopes: ['read'] }),
  suspended: { ...account, isSuspended: true },
  slow: { ...account, requestsPerSecond: 0.5 },
  fast: { ...account, requestsPerSecond: 1e6 },
  stale: account,
  reporter: limited({ scopes: ['report'] }),
  'reporter-of-mails': limited({ scopes: ['report'], queues: ['mails'] }),
};
/** Keys that the cache does not have. */
const UNCACHED = ['stale', 'lost'];

const job = { id: ID, status: 'pending' as const, createdAt: CREATED_AT };
/** Results of a publish, by the name of the queue. */
export const QUEUES: Readonly<Record<string, () => object>> = {
  mails: () => ({ created: true, payloadDiffers: false, job }),
  again: () => ({ created: false, payloadDiffers: false, job: { ...job, status: 'completed' } }),
  differs: () => ({ created: false, payloadDiffers: true, job }),
  more: () => ({ created: true, payloadDiffers: false, job: { ...job, more: 1 } }),
  malformed: () => ({ created: true, payloadDiffers: false, job: { ...job, id: 'x' } }),
  missing: () => fail(notFound('queue')),
  'used-up': () => fail(new JobferryError('limit_reached', 'used up')),
  down: () => fail(unavailable('down; nothing was stored', 'nothing')),
  unknown: () => fail(unavailable('gone; it may have been stored', 'unknown')),
  bug: () => fail(new TypeError('a bug')),
};

const success = { attempt: 1, status: 'success' as const, error: null, webhookStatusCode: 202, timestamp: CREATED_AT };
const acked = { ...wholeJob, status: 'completed' as const, history: [success], completedAt: CREATED_AT };
/** Results of an ack, by the last digit of the job's id. */
const JOBS: Readonly<Record<string, () => object>> = {
  '1': () => ({ ...acked, payload: '{ "a": [1e400, "é\\u0000"] }' }),
  '2': () => ({ ...acked, history: [...acked.history, ...acked.history], idempotencyKey: 'k', lastError: 'no' }),
  '3': () => ({ ...acked, more: 1 }),
  '4': () => ({ ...acked, id: 'x' }),
  '5': () => fail(notFound('job')),
  '6': () => fail(new JobferryError('invalid_request', 'the job is pending, not awaiting_ack')),
  '7': () => fail(unavailable('down; nothing was stored', 'nothing')),
  '8': () => fail(unavailable('gone; it may have been stored', 'unknown')),
  '9': () => fail(new TypeError('a bug')),
};

function fail(error: Error): never {
  throw error;
}

const services: Overrides = {
  accounts: {
    authenticate: async (key) =>
      key === 'lost' ? fail(unavailable('gone', 'unknown')) : Object.hasOwn(KEYS, key) ? (KEYS[key] ?? null) : null,
    authenticated: (key) => (UNCACHED.includes(key) || !Object.hasOwn(KEYS, key) ? null : (KEYS[key] ?? null)),
  },
  jobs: {
    publish: async (by, queueName) => {
      assertNotSuspended(by);
      return (QUEUES[queueName] ?? QUEUES.mails)?.() as never;
    },
    ack: async (_by, jobId) => (JOBS[jobId.slice(-1)]?.() ?? acked) as never,
  },
};

type Setup = Parameters<typeof startApi>[0];

/** Everything that a request leaves behind: for its client, the database and the operator. */
interface Seen {
  answers: string[];
  /** Calls that publish or ack. */
  published: unknown[];
  changed: string[];
  logged: string[];
  lines: object[];
  counted: string[];
}

export interface Way {
  send(request: string, answers?: number): Promise<Seen>;
  /** How many requests Express has seen. */
  expressed(): number;
}

export async function openWays(setup: Setup = {}): Promise<{ short: Way; full: Way }> {
  const express = expressCalls();
  const [short, full] = await Promise.all([openWay(setup, true, express), openWay(setup, false, express)]);
  return { short, full };
}

/**
 * Sends each of the requests both ways. Fails unless both leave the same behind, and each of the kinds has been seen.
 * @param kinds a status, and the way that gave it: `200 short`
 * @returns the number of requests of each kind
 */
export async function fuzzBothWays(
  requests: fc.Arbitrary<string>,
  kinds: readonly string[],
): Promise<Map<string, number>> {
  const { short, full } = await openWays({ config: { corsOrigins: ['https://one.example'] } });
  const seenKinds = new Map<string, number>();
  const check = async (sent: string) => {
    const expected = await full.send(sent);
    const before = short.expressed();
    const seen = await short.send(sent);
    expect(seen).toEqual(expected);
    const kind = `${seen.answers.at(-1)?.slice(9, 12)} ${short.expressed() === before ? 'short' : 'full'}`;
    seenKinds.set(kind, (seenKinds.get(kind) ?? 0) + 1);
  };
  // One at a time, because the counts belong to the process.
  await fuzz(requests, check, { inFlight: 1, until: () => kinds.every((kind) => seenKinds.has(kind)) });
  return seenKinds;
}

function expressCalls(): () => number {
  const handle = vi.spyOn((express as unknown as { application: { handle(): void } }).application, 'handle');
  onTestFinished(() => handle.mockRestore());
  return () => handle.mock.calls.length;
}

async function openWay(setup: Setup = {}, hasShortWays: boolean, expressed: () => number): Promise<Way> {
  const lines: Record<string, unknown>[] = [];
  const changed: string[] = [];
  const log = createLog({ level: 'info' }, { write: (text) => lines.push(JSON.parse(text)) });
  const api = await startApi({
    services,
    watch: createAccessLog({ log, level: 'info', trustedProxies: new TrustedProxies([]) }),
    onChange: ({ id }) => changed.push(id),
    ...setup,
    hasShortWays,
  });
  onTestFinished(api.close);
  return {
    expressed,
    send: async (request, answers = 1) => {
      for (const list of [lines, changed, api.calls, api.logged]) list.length = 0;
      const before = numbers();
      const received = await exchange(Number(api.url.port), request, answers);
      while (lines.length < answers) await turn();
      return {
        answers: received,
        published: api.calls
          .filter(({ method }) => method === 'jobs.publish' || method === 'jobs.ack')
          .map(({ args }) => args.map(withoutWait)),
        changed: [...changed],
        logged: api.logged.map(({ fields, message }) =>
          JSON.stringify({ ...fields, err: String(Object(fields).err), requestId: undefined, message }),
        ),
        lines: lines.map(({ time: _, ms: __, requestId: ___, ...line }) => line),
        counted: numbers()
          .filter((line) => !before.includes(line))
          .map((line) => more(line, before)),
      };
    },
  };
}

/** How long a request has waited depends on the machine. */
function withoutWait(argument: unknown): unknown {
  if (typeof argument !== 'object' || argument === null) return argument;
  const { waitedMs: _, ...others } = argument as { waitedMs?: unknown };
  return others;
}

function numbers(): string[] {
  const list = (name: string, tally: Tally) => tally.entries().map(({ values, count }) => `${name} ${values} ${count}`);
  return [...list('requests', counts.requests), ...list('refused', counts.refusedPublishes)];
}

/** The increase of a number. */
function more(line: string, before: readonly string[]): string {
  const name = line.slice(0, line.lastIndexOf(' ') + 1);
  const earlier = before.find((one) => one.startsWith(name) && /^\d+$/.test(one.slice(name.length)));
  return name + (Number(line.slice(name.length)) - Number(earlier?.slice(name.length) ?? 0));
}

/**
 * Sends bytes, and returns so many answers without their dates and generated ids,
 * each followed by a line if the connection ended.
 */
function exchange(port: number, request: string, count: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'));
    let rest = '';
    const answers: string[] = [];
    const done = () => {
      socket.destroy();
      resolve(answers);
    };
    socket.on('error', reject);
    socket.setTimeout(10_000, () => socket.destroy(new Error(`no answer: ${request.slice(0, 500)}`)));
    socket.on('end', done);
    socket.on('data', (data) => {
      rest += data.toString('latin1');
      for (let end = rest.indexOf('\r\n\r\n'); end !== -1; end = rest.indexOf('\r\n\r\n')) {
        const head = rest.slice(0, end);
        const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
        if (rest.length < end + 4 + length) return;
        answers.push(`${comparable(head)}\n\n${rest.slice(end + 4, end + 4 + length)}`);
        rest = rest.slice(end + 4 + length);
      }
      if (answers.filter((answer) => !answer.startsWith('HTTP/1.1 100')).length >= count) done();
    });
  });
}

function comparable(head: string): string {
  const [status, ...headers] = head.split('\r\n');
  const kept = headers.filter((line) => !/^(date|x-request-id: [0-9a-f]{8}-[0-9a-f]{4}-4)/i.test(line));
  return [status, ...kept.sort()].join('\n');
}
