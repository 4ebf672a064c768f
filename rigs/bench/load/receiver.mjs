// The webhook: notes when each job arrived, how often, and whether the signature was right. The same for all systems.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Acknowledger } from './acknowledger.mjs';
import { serve } from './assistant.mjs';
import { sharedNow } from './clock.mjs';
import { grown } from './record.mjs';

/** One in so many signatures is checked: each costs the machine as much as it costs the sender. */
const CHECKED_SIGNATURES = 50;
const NUMBER_AT = '"payload":{"n":';
const QUEUE_AT = '"queue":"';
const ID_AT = '"id":"';
/** The number, the queue and the id are near the beginning of an envelope. */
const HEAD_BYTES = 300;

let run = newRun({ name: '' });

function newRun({ name, delayMs = 0, failedShare = 0 }) {
  return {
    name,
    delayMs,
    failedShare,
    secrets: {},
    acknowledger: null,
    arrivedAt: new Float64Array(1 << 14),
    times: new Uint8Array(1 << 14),
    requests: 0,
    distinct: 0,
    badSignatures: 0,
    strangers: 0,
    lastAt: 0,
    open: new Map(),
    mostOpen: new Map(),
  };
}

const server = createServer((req, res) => {
  const { name } = run;
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.once('end', () => {
    if (req.url !== `/${name}`) {
      // The job is one of a run that has ended.
      run.strangers += 1;
      res.writeHead(410).end();
      return;
    }
    receive(run, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), req, res);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1');
const listening = once(server, 'listening');

function receive(current, body, req, res) {
  const now = sharedNow();
  const head = body.latin1Slice(0, Math.min(HEAD_BYTES, body.length));
  const number = Number.parseInt(head.slice(head.indexOf(NUMBER_AT) + NUMBER_AT.length), 10);
  const queue = textAfter(head, QUEUE_AT);
  current.requests += 1;
  current.lastAt = now;
  if (Number.isNaN(number)) throw new Error(`a delivery without a number: ${head}`);
  const isFailing = current.failedShare > 0 && Math.random() < current.failedShare;
  if (!isFailing) note(current, number, now);
  if (current.requests % CHECKED_SIGNATURES === 0) check(current, queue, body, req.headers['x-service-signature']);

  const status = isFailing ? 500 : 200;
  if (current.delayMs === 0) {
    answer(res, status);
    if (current.acknowledger !== null && !isFailing) current.acknowledger.add(textAfter(head, ID_AT));
    return;
  }
  const open = (current.open.get(queue) ?? 0) + 1;
  current.open.set(queue, open);
  if (open > (current.mostOpen.get(queue) ?? 0)) current.mostOpen.set(queue, open);
  setTimeout(() => {
    current.open.set(queue, current.open.get(queue) - 1);
    answer(res, status);
  }, current.delayMs);
}

function textAfter(head, mark) {
  const at = head.indexOf(mark) + mark.length;
  return head.slice(at, head.indexOf('"', at));
}

function answer(res, status) {
  res.writeHead(status, { 'content-length': 0 });
  res.end();
}

function note(current, number, now) {
  if (number >= current.times.length) {
    const length = Math.max(2 * current.times.length, number + 1);
    current.arrivedAt = grown(current.arrivedAt, length);
    current.times = grown(current.times, length);
  }
  if (current.times[number] < 255) current.times[number] += 1;
  if (current.times[number] > 1) return;
  current.arrivedAt[number] = now;
  current.distinct += 1;
}

function check(current, queue, body, given) {
  const secret = current.secrets[queue] ?? '';
  if (given !== `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`) current.badSignatures += 1;
}

serve({
  /** Forgets the run before. Returns the address that its jobs go to. */
  async begin(input) {
    await listening;
    run.acknowledger?.close();
    run = newRun(input);
    return `http://127.0.0.1:${server.address().port}/${run.name}`;
  },
  secrets({ secrets }) {
    run.secrets = secrets;
  },
  /** From now on every delivery of this run is also reported as done, over the API. */
  async acknowledge({ target, afterMs }) {
    run.acknowledger = await Acknowledger.open(target, afterMs);
  },
  acks: () => run.acknowledger.progress(),
  progress: () => ({ distinct: run.distinct, requests: run.requests, now: sharedNow(), lastAt: run.lastAt }),
  /** Until so many different jobs have arrived in all, or none has for `stallMs`. */
  async arrived({ count, stallMs }) {
    const startedAt = sharedNow();
    while (run.distinct < count && sharedNow() - Math.max(run.lastAt, startedAt) < stallMs) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return run.distinct;
  },
  /** The arrivals of jobs numbered from `first` on. */
  report: ({ first = 0, length }) => ({
    arrivedAt: run.arrivedAt.slice(first, first + length),
    times: run.times.slice(first, first + length),
    distinct: run.distinct,
    badSignatures: run.badSignatures,
    strangers: run.strangers,
    mostOpen: Object.fromEntries(run.mostOpen),
  }),
});

