// What becomes of publishes when twice as many come as can be written, and when the load has gone.
//
//   npm run build && node bench/overload/run.mjs [seconds] [connections] [factor]      60 4000 2 by default
//
// One process with API and embedded database; the load is another process on loopback, without idempotency keys. First the
// capacity, in a closed loop; then the load, at a fixed rate; then a tenth of the capacity. Beside it a quiet account
// publishes 10 jobs a second all the time. Prints a line for each second; writes overload.json and overload.svg into the
// folder OUT (the present one). Bounded: the calibration 15 s, the load as asked, 10 s after it.
import { fork, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HttpConnection } from '../load/http-connection.mjs';
import { chartOf } from './chart.mjs';

const SELF = fileURLToPath(import.meta.url);
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const KEY = 'key-of-the-overload-benchmark';
const CALIBRATION_CONNECTIONS = 256;
const [WARM_UP_S, CALIBRATION_S, AFTER_S] = [5, 10, 10];
/** An answer that comes later is no good to its caller. */
const DEADLINE_MS = 1000;
const QUIET_RATE = 10;
const MAX_RATE = 50_000;

if (process.argv[2] === 'load') runLoad();
else await runBenchmark();

async function runBenchmark() {
  const [seconds, connections, factor] = [60, 4000, 2].map((usual, n) => Number(process.argv[2 + n] ?? usual));
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-bench-'));
  const service = spawn(process.execPath, [MAIN, 'serve', '--role', 'api'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_API_KEY: KEY },
  });
  const load = fork(SELF, ['load']);
  try {
    const url = await addressOf(service);
    const quietKey = await anotherAccount(dataDir);
    const loud = await target(url, KEY);
    const quiet = await target(url, quietKey);
    await told(load, { target: loud, connections: CALIBRATION_CONNECTIONS, seconds: WARM_UP_S });
    const calibrated = await told(load, { target: loud, connections: CALIBRATION_CONNECTIONS, seconds: CALIBRATION_S });
    const capacity = Math.round(sum(calibrated.loud.map(({ good }) => good)) / CALIBRATION_S);
    const rate = Math.min(capacity * factor, MAX_RATE);
    console.log(`capacity ${capacity}/s with ${CALIBRATION_CONNECTIONS} connections; load ${rate}/s with ${connections}`);

    const memory = watchMemory(service.pid);
    const result = await told(load, { target: loud, quiet, connections, seconds, rate, afterRate: capacity / 10 });
    const summary = summaryOf(result, { capacity, rate, connections, seconds, memory: memory.stop() });
    print(result);
    console.log(JSON.stringify(summary, null, 2));
    const out = process.env.OUT ?? '.';
    await writeFile(join(out, 'overload.json'), `${JSON.stringify({ ...summary, ...result }, null, 1)}\n`);
    await writeFile(join(out, 'overload.svg'), chartOf(result.loud, summary));
  } finally {
    load.kill();
    service.kill('SIGTERM');
    await new Promise((resolve) => service.once('exit', resolve));
    await rm(dataDir, { recursive: true, force: true });
  }
}

function summaryOf({ loud, quiet }, { capacity, rate, connections, seconds, memory }) {
  const during = loud.slice(1, seconds);
  const after = loud.slice(seconds);
  const normal = after.findIndex(({ refused, p99 }) => refused === 0 && p99 !== null && p99 < 250);
  return {
    capacityPerSecond: capacity,
    offeredPerSecond: Math.round(rate),
    connections,
    seconds,
    goodputOfCapacity: round(sum(during.map(({ good }) => good)) / during.length / capacity),
    worstSecondOfCapacity: round(Math.min(...during.map(({ good }) => good)) / capacity),
    acceptedP99Ms: Math.max(...during.map(({ p99 }) => p99 ?? 0)),
    normalAfterSeconds: normal === -1 ? null : normal,
    quietRefused: sum(quiet.map(({ refused }) => refused)),
    quietP99Ms: Math.max(...quiet.map(({ p99 }) => p99 ?? 0)),
    ...memory,
  };
}

function print({ loud, quiet }) {
  console.log('second  offered  201 in time  late  refused  p50 ms  p99 ms | quiet 201  refused  p99 ms');
  for (const [n, second] of loud.entries()) {
    const { offered, good, late, refused, p50, p99 } = second;
    const beside = quiet[n] ?? { good: 0, refused: 0, p99: null };
    const cells = [n, offered, good, late, refused, p50, p99, '|', beside.good, beside.refused, beside.p99];
    console.log(cells.map((cell) => String(cell ?? '-').padStart(8)).join(''));
  }
}

async function addressOf(service) {
  for await (const line of createInterface({ input: service.stderr })) {
    const { msg, url } = JSON.parse(line);
    if (msg !== 'listening') continue;
    service.stderr.resume();
    return url;
  }
  throw new Error('the service has ended');
}

/** By the commands of an operator. */
async function anotherAccount(dataDir) {
  const run = async (...args) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH, DATA_DIR: dataDir },
    });
    let text = '';
    for await (const chunk of child.stdout) text += chunk;
    return text;
  };
  const [account] = (await run('account', 'create', '--name', 'quiet', '--plan', 'pro')).match(/[0-9a-f]{24}/) ?? [];
  const [key] = (await run('key', 'create', '--account', account)).match(/jf_\w+/) ?? [];
  if (key === undefined) throw new Error('no second account');
  return key;
}

async function target(url, apiKey) {
  const response = await fetch(`${url}/v1/queues`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'overload', webhookUrl: 'http://127.0.0.1:9/' }),
  });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), apiKey };
}

function told(child, order) {
  return new Promise((resolve) => {
    child.once('message', resolve);
    child.send(order);
  });
}

/** Resident memory of the service, looked at twice a second. */
function watchMemory(pid) {
  let [first, most] = [0, 0];
  const look = async () => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const mib = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    first ||= mib;
    most = Math.max(most, mib);
  };
  void look();
  const timer = setInterval(look, 500);
  return {
    stop() {
      clearInterval(timer);
      return { memoryBeforeMiB: first, memoryAtMostMiB: most };
    },
  };
}

function runLoad() {
  process.on('message', async (order) => {
    process.send(order.rate === undefined ? await closedLoop(order) : await openLoop(order));
  });
}

async function closedLoop({ target: to, connections, seconds }) {
  const open = await openAll(to, connections);
  const record = new Seconds();
  const endsAt = performance.now() + seconds * 1000;
  await Promise.all(
    open.map(async (connection) => {
      while (performance.now() < endsAt) await publishOn(connection, requestOf(to), record, performance.now());
      connection.close();
    }),
  );
  return { loud: record.table() };
}

/**
 * Sends when the time has come, on whichever connection is free. When none is, the publish counts as refused: a line in
 * the load would be an overloaded queue of its own, and what is measured is the service's.
 */
async function openLoop({ target: to, quiet, connections, seconds, rate, afterRate }) {
  const loud = new Seconds();
  const beside = new Seconds();
  await Promise.all([
    stream(to, connections, loud, (elapsed) => Math.min(elapsed, seconds) * rate + Math.max(elapsed - seconds, 0) * afterRate, seconds + AFTER_S),
    stream(quiet, 4, beside, (elapsed) => elapsed * QUIET_RATE, seconds + AFTER_S),
  ]);
  return { loud: loud.table(), quiet: beside.table() };
}

async function stream(to, connections, record, dueAt, seconds) {
  const idle = await openAll(to, connections);
  const request = requestOf(to);
  const startedAt = performance.now();
  let [sent, underWay] = [0, 0];
  const send = async (since) => {
    const connection = idle.pop();
    underWay += 1;
    await publishOn(connection, request, record, since);
    underWay -= 1;
    idle.push(connection);
  };
  for (;;) {
    const elapsed = (performance.now() - startedAt) / 1000;
    for (const due = Math.floor(dueAt(Math.min(elapsed, seconds))); sent < due; sent += 1) {
      if (idle.length > 0) void send(performance.now());
      else record.answered(performance.now(), 0);
    }
    if (elapsed > seconds && (underWay === 0 || elapsed > seconds + 10)) break;
    await sleep(1);
  }
  for (const connection of idle) connection.close();
}

function openAll({ host, port }, count) {
  return Promise.all(Array.from({ length: count }, () => HttpConnection.open(host, port)));
}

function requestOf({ host, port, apiKey }) {
  const body = `{"payload":{"event":"order.paid","note":"${'x'.repeat(200)}"}}`;
  return (
    `POST /v1/queues/overload/jobs HTTP/1.1\r\nhost: ${host}:${port}\r\nauthorization: Bearer ${apiKey}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
}

function publishOn(connection, request, record, since) {
  return new Promise((resolve) => {
    connection.send(request, (status) => {
      record.answered(since, status);
      resolve();
    });
  });
}

/** What came of the requests, by the second in which each was due. */
class Seconds {
  #startedAt = performance.now();
  #seconds = [];

  answered(since, status) {
    const n = Math.floor((since - this.#startedAt) / 1000);
    this.#seconds[n] ??= { times: [], refused: 0 };
    if (status === 201) this.#seconds[n].times.push(performance.now() - since);
    else this.#seconds[n].refused += 1;
  }

  table() {
    return Array.from(this.#seconds, (second) => {
      const { times, refused } = second ?? { times: [], refused: 0 };
      times.sort((one, other) => one - other);
      const good = times.filter((ms) => ms <= DEADLINE_MS).length;
      const at = (part) => (times.length === 0 ? null : Math.round(times[Math.floor((times.length - 1) * part)]));
      const offered = times.length + refused;
      return { offered, good, late: times.length - good, refused, p50: at(0.5), p99: at(0.99) };
    });
  }
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function round(number) {
  return Math.round(number * 100) / 100;
}
