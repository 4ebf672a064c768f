// The clients of the overload, in a process of their own: see run.mjs.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '../load/assistant.mjs';
import { HttpConnection } from '../load/http-connection.mjs';

/** An answer that comes later is no good to its caller. */
const DEADLINE_MS = 1000;
/** The `Retry-After` of a 503, in milliseconds. */
const RETRY_AFTER_MS = 1000;
/** How long the answers to the last requests are waited for. */
const LAST_ANSWERS_S = 10;

serve({ closedLoop, openLoop });

/** As fast as it goes. */
async function closedLoop({ target, connections, seconds }) {
  const open = await openAll(target, connections);
  const request = requestOf(target);
  const record = new Seconds();
  const endsAt = performance.now() + seconds * 1000;
  await Promise.all(
    open.map(async (connection) => {
      while (performance.now() < endsAt) await publishOn(connection, request, record);
      connection.close();
    }),
  );
  return record.result();
}

/**
 * At a fixed rate, whatever the answers; after `seconds` at another one for `afterSeconds`. A request that is due while
 * no connection is free is not sent, and counted apart. One that is sent late because this process was late counts from
 * when it was sent: how late this process is, is counted apart too.
 */
async function openLoop({ target, connections, rate, seconds, afterRate = 0, afterSeconds = 0, isObedient = false }) {
  const idle = await openAll(target, connections);
  const request = requestOf(target);
  const record = new Seconds();
  const startedAt = performance.now();
  const endsAfter = seconds + afterSeconds;
  let [sent, underWay] = [0, 0];
  const send = async () => {
    // Each in its turn: the service cuts off a connection that is silent for long.
    const connection = idle.shift();
    underWay += 1;
    const status = await publishOn(connection, request, record);
    underWay -= 1;
    if (isObedient && status === 503) await sleep(RETRY_AFTER_MS);
    idle.push(connection);
  };
  for (;;) {
    const elapsed = (performance.now() - startedAt) / 1000;
    const due = Math.floor(Math.min(elapsed, seconds) * rate + Math.max(Math.min(elapsed, endsAfter) - seconds, 0) * afterRate);
    for (; sent < due; sent += 1) {
      if (idle.length > 0) void send();
      else record.noConnection();
    }
    if (elapsed > endsAfter && (underWay === 0 || elapsed > endsAfter + LAST_ANSWERS_S)) break;
    await sleep(1);
  }
  for (const connection of idle) connection.close();
  return record.result(seconds);
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

function publishOn(connection, request, record) {
  const since = performance.now();
  return new Promise((resolve) => {
    connection.send(request, (status) => {
      record.answered(since, status);
      resolve(status);
    });
  });
}

/**
 * The outcomes of the requests, by the second in which each was sent; goodput, by the second in which it was answered.
 */
class Seconds {
  #startedAt = performance.now();
  #seconds = [];
  #lateness = monitorEventLoopDelay({ resolution: 5 });

  constructor() {
    this.#lateness.enable();
  }

  #at(time) {
    const n = Math.floor((time - this.#startedAt) / 1000);
    for (let i = this.#seconds.length; i <= n; i += 1) {
      this.#seconds[i] = { times: [], good: 0, refused: 0, broken: 0, noConnection: 0 };
    }
    return this.#seconds[n];
  }

  answered(since, status) {
    const now = performance.now();
    if (status === 201) {
      this.#at(since).times.push(now - since);
      if (now - since <= DEADLINE_MS) this.#at(now).good += 1;
    } else if (status === 0) this.#at(since).broken += 1;
    else this.#at(since).refused += 1;
  }

  noConnection() {
    this.#at(performance.now()).noConnection += 1;
  }

  /** @param loaded how many seconds of it are the load, of which there are figures for all together */
  result(loaded = this.#seconds.length) {
    this.#lateness.disable();
    const seconds = this.#seconds.map(({ times, good, refused, broken, noConnection }) => ({
      sent: times.length + refused + broken,
      noConnection,
      good,
      late: times.filter((ms) => ms > DEADLINE_MS).length,
      refused,
      broken,
      ...quantiles(times),
    }));
    const all = quantiles(this.#seconds.slice(0, loaded).flatMap(({ times }) => times));
    return { seconds, all, ownLatenessP99Ms: Math.round(this.#lateness.percentile(99) / 1e6) };
  }
}

function quantiles(times) {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part) => (sorted.length === 0 ? null : Math.round(sorted[Math.floor((sorted.length - 1) * part)]));
  return { p50: at(0.5), p99: at(0.99) };
}
