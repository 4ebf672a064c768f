// The load: publishes jobs over a fixed number of keep-alive connections, and notes when each was sent and answered.
import { serve } from './assistant.mjs';
import { sharedNow } from './clock.mjs';
import { HttpConnection } from './http-connection.mjs';
import { Record } from './record.mjs';

const TICK_MS = 1;

serve({ publish });

/**
 * `target`: host, port, paths (used in turn) and apiKey. Jobs are numbered from `first`.
 * Closed loop: each connection publishes one job after the other, for `seconds` or until there are `count`.
 * Open loop: with `rate` (jobs per second) jobs are sent when their time has come, whatever the answers do. They count
 * as sent at that time: what they wait for a free connection, or for this process, is a part of the latency.
 */
async function publish({ target, connections = 64, first = 0, seconds = Infinity, count = Infinity, rate = null, payloadBytes = 200 }) {
  const open = await Promise.all(
    Array.from({ length: connections }, () => HttpConnection.open(target.host, target.port)),
  );
  const record = new Record(first);
  const requests = new Requests(target, payloadBytes);
  const limits = { endAt: sharedNow() + seconds * 1000, count };
  try {
    if (rate === null) await Promise.all(open.map((connection) => closedLoop(connection, record, requests, limits)));
    else await openLoop(open, record, requests, limits, rate);
  } finally {
    for (const connection of open) connection.close();
  }
  return record.toMessage();
}

function closedLoop(connection, record, requests, { endAt, count }) {
  return new Promise((resolve) => {
    const next = () => {
      const now = sharedNow();
      if (now >= endAt || record.length >= count) return resolve();
      const number = record.sent(now);
      connection.send(requests.of(number), (status) => {
        record.answered(number, sharedNow(), status);
        if (status === 0) resolve();
        else next();
      });
    };
    next();
  });
}

function openLoop(idle, record, requests, { endAt, count }, rate) {
  return new Promise((resolve) => {
    const startedAt = sharedNow();
    const waiting = [];
    let underWay = 0;
    const send = (number) => {
      const connection = idle.pop();
      underWay += 1;
      connection.send(requests.of(number), (status) => {
        record.answered(number, sharedNow(), status);
        underWay -= 1;
        idle.push(connection);
        if (waiting.length > 0) send(waiting.shift());
      });
    };
    const timer = setInterval(() => {
      const now = sharedNow();
      const due = Math.min(count, Math.floor(((Math.min(now, endAt) - startedAt) / 1000) * rate));
      while (record.length < due) {
        const number = record.sent(startedAt + ((record.length + 1) * 1000) / rate);
        if (idle.length > 0) send(number);
        else waiting.push(number);
      }
      if ((now < endAt && record.length < count) || underWay > 0) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
}

class Requests {
  #heads;
  #bodyEnd;

  constructor({ host, port, paths, apiKey }, payloadBytes) {
    this.#heads = paths.map(
      (path) =>
        `POST ${path} HTTP/1.1\r\nhost: ${host}:${port}\r\nauthorization: Bearer ${apiKey}\r\n` +
        'content-type: application/json\r\ncontent-length: ',
    );
    // Like an order: some fields, and text to fill up.
    const fields = ',"event":"order.paid","customer":{"id":4711,"country":"DE"},"total":129.95,"note":"';
    this.#bodyEnd = `${fields}${'x'.repeat(Math.max(0, payloadBytes - fields.length - 16))}"}}`;
  }

  of(number) {
    // Receivers look for the number at this very place.
    const body = `{"payload":{"n":${number}${this.#bodyEnd}`;
    return `${this.#heads[number % this.#heads.length]}${body.length}\r\n\r\n${body}`;
  }
}
