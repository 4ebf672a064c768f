import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiQueue } from '../support/api.ts';
import { type Cluster, publishMany, startProcesses } from '../support/cluster.ts';
import type { Jobferry } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';

/** F-13: 100 webhooks at once that answer without end, and what they cost the process that calls them. */

const AT_ONCE = 100;
/**
 * Each answer is read up to 64 KiB; without that bound these would take gigabytes. Between the two is what Node has not
 * collected yet: 11 MB on a busy machine, 13 MB with Node 24.
 */
const MAX_GROWTH_BYTES = 40 * 2 ** 20;
const WARM_UP_ROUNDS = 5;
/** The last of them, in which the worker takes what it takes for any 100 deliveries. */
const WARM_ROUNDS = 3;

let cluster: Cluster;
let worker: Jobferry;
let queue: ApiQueue;
let flood: Flood;

beforeAll(async () => {
  flood = await startFlood();
  cluster = await startProcesses({ workers: 1 });
  worker = cluster.workers[0] as Jobferry;
  queue = await cluster.api.createQueue({ webhookUrl: flood.url, concurrency: AT_ONCE });
});

afterAll(() => flood.close());

/** Memory that the process has now, seen from outside. */
function residentBytes(pid: number): number {
  const status = `/proc/${pid}/status`;
  const text = existsSync(status)
    ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1]
    : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  return Number(text) * 1024;
}

interface Flood {
  url: string;
  /** Whether an answer is a few bytes, or never ends. These begin together, when all 100 requests are there. */
  endless: boolean;
  requests: number;
  /** Open ones. */
  readonly connections: number;
  close(): void;
}

/** A receiver that writes as fast as the connection takes it. */
async function startFlood(): Promise<Flood> {
  const sockets = new Set<Socket>();
  const waiting: Socket[] = [];
  const block = Buffer.from(`10000\r\n${'e'.repeat(0x10000)}\r\n`);
  const pour = (socket: Socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    const pump = () => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on('drain', pump);
    pump();
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // the sender hangs up, as it should
    socket.once('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      if (!data.includes('POST ')) return;
      state.requests += 1;
      if (!state.endless) {
        socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok', () => socket.end());
        return;
      }
      waiting.push(socket);
      if (waiting.length === AT_ONCE) for (const each of waiting.splice(0)) pour(each);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const state: Flood = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    endless: false,
    requests: 0,
    get connections() {
      return sockets.size;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return state;
}

/** Publishes 100 jobs and returns the most memory that the worker had until all were done. */
async function deliverRound(done: number): Promise<number> {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, residentBytes(worker.pid));
  };
  const sampler = setInterval(look, 10);
  try {
    await publishMany(cluster.api, queue.name, AT_ONCE);
    await cluster.waitForCount(queue.id, 'completed', done + AT_ONCE);
  } finally {
    clearInterval(sampler);
  }
  look();
  return peak;
}

it(`cost a worker at most ${MAX_GROWTH_BYTES / 2 ** 20} MB`, async () => {
  // Compiled code, buffers and connections that any 100 deliveries take are not measured here.
  const peaks: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) peaks.push(await deliverRound(round * AT_ONCE));
  flood.endless = true;
  const peak = await deliverRound(WARM_UP_ROUNDS * AT_ONCE);
  expect(flood.requests).toBe((WARM_UP_ROUNDS + 1) * AT_ONCE);
  // Peak beside peak: what a worker has at rest depends on when Node last gave memory back.
  expect(peak - Math.max(...peaks.slice(-WARM_ROUNDS))).toBeLessThan(MAX_GROWTH_BYTES);
  // All of them were hung up on.
  await waitFor(() => flood.connections === 0, { message: 'the end of all connections' });
});
