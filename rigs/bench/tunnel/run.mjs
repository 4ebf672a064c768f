// The cost of a tunnel: the time that it adds to a delivery, and how many deliveries a second go through it.
//
//   npm run build && node rigs/bench/tunnel/run.mjs [seconds] [jobs]     10 20000 by default
//
// One process with the embedded database; the receiver and `jobferry listen` are processes of their own, all on
// loopback. Latency: two queues with the same receiver, one of them behind a tunnel, get a job in turn every 20 ms.
// Rate: a paused queue with a concurrency of 50 is filled and resumed. Prints one JSON object.
import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { percentiles } from '../measure/statistics.mjs';
import { startChild } from '../stage/child.mjs';

const SELF = fileURLToPath(import.meta.url);
const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const KEY = 'key-of-the-tunnel-benchmark';
const EVERY_MS = 20;
const IN_FLIGHT = 50;
const BATCH = 1000;

if (process.argv[2] === 'receiver') runReceiver();
else await runBenchmark(Number(process.argv[2] ?? 10), Number(process.argv[3] ?? 20_000));

async function runBenchmark(seconds, jobs) {
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-bench-'));
  const env = { HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_API_KEY: KEY, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const service = await startChild(process.execPath, [MAIN, 'serve'], { env, ready: /listening on (http:\S+)/ });
  const receiver = fork(SELF, ['receiver']);
  let client = null;
  try {
    const [, url] = service.match;
    const { port } = await told(receiver);
    const webhookUrl = `http://127.0.0.1:${port}/`;
    for (const name of ['direct', 'tunnelled']) {
      await send(url, 'POST', '/v1/queues', { name, webhookUrl, concurrency: IN_FLIGHT });
    }
    client = await listen(url, 'tunnelled', webhookUrl);
    const latency = await compare(url, receiver, seconds);
    const perSecond = await rate(url, receiver, jobs);
    console.log(JSON.stringify({ ...latency, perSecond, inFlight: IN_FLIGHT, jobs }));
  } finally {
    await client?.stop();
    receiver.kill();
    await service.stop();
    await rm(dataDir, { recursive: true });
  }
}

/** Milliseconds from before the publish to the arrival, of both queues in turn. */
async function compare(url, receiver, seconds) {
  for (let n = 0; n < (seconds * 1000) / EVERY_MS; n += 1) {
    const queue = n % 2 === 0 ? 'direct' : 'tunnelled';
    const payload = { sentAt: performance.timeOrigin + performance.now() };
    void send(url, 'POST', `/v1/queues/${queue}/jobs`, { payload });
    await sleep(EVERY_MS);
  }
  await sleep(500);
  const { arrivals } = await told(receiver);
  const of = (queue) => percentiles(arrivals.filter((one) => one.queue === queue).map(({ ms }) => ms));
  return { direct: of('direct'), tunnelled: of('tunnelled') };
}

/** Deliveries per second while the middle eight tenths of the jobs arrive. */
async function rate(url, receiver, jobs) {
  const { data } = await graphql(url, '{ queue(name: "tunnelled") { id } }');
  const id = data.queue.id;
  await graphql(url, 'mutation ($id: ID!) { pauseQueue(id: $id) { __typename } }', { id });
  const publish = `mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) { __typename } }`;
  for (let first = 0; first < jobs; first += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, jobs - first) }, (_, n) => ({ queue: 'tunnelled', job: { payload: { n } } }));
    await graphql(url, publish, { jobs: batch });
  }
  const before = (await told(receiver)).count;
  await graphql(url, 'mutation ($id: ID!) { resumeQueue(id: $id) { __typename } }', { id });
  const reached = async (share) => {
    for (;;) {
      const { count, at } = await told(receiver);
      if (count - before >= jobs * share) return { count, at };
      await sleep(20);
    }
  };
  const from = await reached(0.1);
  const to = await reached(0.9);
  return Math.round(((to.count - from.count) * 1000) / (to.at - from.at));
}

function listen(url, queue, forward) {
  const args = [MAIN, 'listen', queue, '--forward', forward, '--json'];
  return startChild(process.execPath, args, { env: { JOBFERRY_URL: url, JOBFERRY_API_KEY: KEY }, ready: /"type":"ready"/ });
}

async function send(url, method, path, body) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

async function graphql(url, query, variables = {}) {
  const answer = await send(url, 'POST', '/graphql', { query, variables });
  if (answer.errors) throw new Error(answer.errors[0].message);
  return answer;
}

function told(receiver) {
  const answer = new Promise((resolve) => receiver.once('message', resolve));
  receiver.send('what');
  return answer;
}

function runReceiver() {
  let count = 0;
  const arrivals = [];
  const server = createServer((req, res) => {
    const at = performance.timeOrigin + performance.now();
    let text = '';
    req.setEncoding('utf8');
    req.on('data', (part) => {
      text += part;
    });
    req.once('end', () => {
      count += 1;
      const { queue, payload } = JSON.parse(text);
      if (payload.sentAt !== undefined) arrivals.push({ queue, ms: at - payload.sentAt });
      res.end();
    });
  });
  server.listen(0, '127.0.0.1', () => {
    process.on('message', () => process.send({ port: server.address().port, count, at: performance.now(), arrivals }));
  });
}
