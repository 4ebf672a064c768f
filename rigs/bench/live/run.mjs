// The cost of live subscribers: how fast a queue empties with and without ten of them.
//
//   npm run build && node rigs/bench/live/run.mjs [jobs] [rounds] [subscribers]     60000 4 10 by default
//
// One process with the embedded database; receiver and subscribers are processes of their own on loopback.
// A round publishes all jobs into a paused queue and resumes it. While it empties, subscribers come and go
// every few seconds: neighbouring moments are compared, so that a slow minute of the machine hits both.
// Prints deliveries per second of each pair of moments, and one JSON object at the end.
import { fork, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const SELF = fileURLToPath(import.meta.url);
const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const KEY = 'key-of-the-live-benchmark';
const PUBLISH_BATCH = 1000;
const SETTLE_MS = 500;
const WINDOW_MS = 2000;
const RESUME = `mutation ($id: ID!) { resumeQueue(id: $id) { __typename } }`;
const SUBSCRIPTION = `subscription ($queue: ID!) {
  live(watch: { queueIds: [$queue] }, minIntervalMs: 1000) {
    __typename
    ... on JobsUpdated { more jobs { id status } }
    ... on QueueStats { queues { id inFlight } }
  }
}`;

const roles = { receiver: runReceiver, subscribers: runSubscribers };
await (roles[process.argv[2]] ?? runBenchmark)();

async function runBenchmark() {
  const [jobs, rounds, subscribers] = [60_000, 4, 10].map((usual, n) => Number(process.argv[2 + n] ?? usual));
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-bench-'));
  const service = spawn(process.execPath, [MAIN, 'serve'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_API_KEY: KEY },
  });
  const [receiver, watchers] = [fork(SELF, ['receiver']), fork(SELF, ['subscribers'])];
  try {
    const url = await addressOf(service);
    const { port } = await told(receiver, 'port');
    const pairs = [];
    for (let round = 0; round < rounds; round += 1) {
      const webhookUrl = `http://127.0.0.1:${port}/`;
      const queue = await rest(url, '/v1/queues', { name: `round-${round}`, webhookUrl, concurrency: 500 });
      await fill(url, queue, jobs);
      const { count: before } = await told(receiver, 'count');
      await ask(url, RESUME, { id: queue.id });
      await sleep(SETTLE_MS);
      const isEmptyAfter = before + jobs;
      pairs.push(...(await emptyWatched({ url, queue, receiver, watchers, subscribers, isEmptyAfter })));
      await rest(url, `/v1/queues/${queue.id}`, undefined, 'DELETE');
    }
    const changes = pairs.map(({ without, watched }) => watched / without - 1);
    const { heard } = await told(watchers, 'heard');
    console.log(JSON.stringify({ jobs: jobs * rounds, pairs: pairs.length, subscribers, heard, ...summary(changes) }));
  } finally {
    receiver.kill();
    watchers.kill();
    service.kill();
    await new Promise((resolve) => service.once('exit', resolve));
    await rm(dataDir, { recursive: true });
  }
}

/** Pairs of rates, with and without; in turns which comes first. */
async function emptyWatched({ url, queue, receiver, watchers, subscribers, isEmptyAfter }) {
  const pairs = [];
  for (;;) {
    const pair = {};
    for (const watched of pairs.length % 2 === 0 ? [false, true] : [true, false]) {
      await told(watchers, 'watch', { url, queue: queue.id, subscribers: watched ? subscribers : 0 });
      await sleep(SETTLE_MS);
      const from = await told(receiver, 'count');
      await sleep(WINDOW_MS);
      const to = await told(receiver, 'count');
      if (to.count >= isEmptyAfter) {
        await told(watchers, 'watch', { url, queue: queue.id, subscribers: 0 });
        return pairs;
      }
      pair[watched ? 'watched' : 'without'] = Math.round(((to.count - from.count) * 1000) / (to.at - from.at));
    }
    console.log(`${pair.without}/s alone, ${pair.watched}/s with ${subscribers} subscribers`);
    pairs.push(pair);
  }
}

function summary(changes) {
  const sorted = changes.toSorted((a, b) => a - b);
  const mean = changes.reduce((sum, change) => sum + change, 0) / changes.length;
  const variance = changes.reduce((sum, change) => sum + (change - mean) ** 2, 0) / (changes.length - 1);
  const percent = (share) => Number((share * 100).toFixed(1));
  return {
    medianPercent: percent(sorted[Math.floor(changes.length / 2)]),
    meanPercent: percent(mean),
    standardErrorPercent: percent(Math.sqrt(variance / changes.length)),
  };
}

async function addressOf(service) {
  for await (const line of createInterface({ input: service.stderr })) {
    const { msg, url } = JSON.parse(line);
    if (msg !== 'listening') continue;
    // Its log must be read, or it stops at the pipe's end.
    service.stderr.resume();
    return url;
  }
  throw new Error('the service did not start');
}

async function fill(url, queue, jobs) {
  await ask(url, `mutation ($id: ID!) { pauseQueue(id: $id) { __typename } }`, { id: queue.id });
  for (let first = 0; first < jobs; first += PUBLISH_BATCH) {
    const batch = Array.from({ length: Math.min(PUBLISH_BATCH, jobs - first) }, (_, n) => ({
      queue: queue.name,
      job: { payload: { number: first + n } },
    }));
    await ask(url, `mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) { __typename } }`, { jobs: batch });
  }
}

async function rest(url, path, body, method = 'POST') {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return answer.status === 204 ? null : answer.json();
}

async function ask(url, query, variables) {
  const answer = await rest(url, '/graphql', { query, variables });
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

/** Sends a request to a child process. */
function told(child, what, more = {}) {
  return new Promise((resolve) => {
    child.once('message', resolve);
    child.send({ what, ...more });
  });
}

/** Answers 200 at once, and counts. */
function runReceiver() {
  let count = 0;
  const server = createServer((req, res) => {
    req.resume().once('end', () => {
      count += 1;
      res.end();
    });
  });
  server.listen(0, '127.0.0.1', () => {
    process.on('message', () => process.send({ port: server.address().port, count, at: performance.now() }));
  });
}

function runSubscribers() {
  const heard = { events: 0, bytes: 0 };
  let leave = new AbortController();
  const watch = async ({ url, queue }) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', accept: 'text/event-stream' };
    const body = JSON.stringify({ query: SUBSCRIPTION, variables: { queue } });
    const answer = await fetch(`${url}/graphql`, { method: 'POST', headers, body, signal: leave.signal });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    const follow = async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        heard.events += part.value.split('event: next').length - 1;
        heard.bytes += part.value.length;
      }
    };
    follow().catch(() => undefined);
  };
  process.on('message', async (message) => {
    if (message.what === 'watch') {
      leave.abort();
      leave = new AbortController();
      await Promise.all(Array.from({ length: message.subscribers }, () => watch(message)));
    }
    process.send({ heard });
  });
}
