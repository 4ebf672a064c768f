import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { bind } from '../../src/http/index.ts';
import { Starting } from '../../src/http/server/starting.ts';
import { statusOf } from '../support/status.ts';

/** How long requests wait for the end of a start. The rest is in listen.test.ts. */

const WAIT_MS = 10_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  let now = 0;
  let refused = 0;
  const starting = new Starting(
    WAIT_MS,
    () => {
      refused += 1;
    },
    () => now,
  );
  const add = () => starting.add({} as IncomingMessage, { once: () => undefined } as unknown as ServerResponse);
  return {
    add,
    refused: () => refused,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

it('a request waits for 10 s', async () => {
  const { add, refused } = open();
  add();
  await vi.advanceTimersByTimeAsync(WAIT_MS - 1);
  expect(refused()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(refused()).toBe(1);
});

it('a request that may have arrived while the event loop was busy waits for the rest of 10 s', async () => {
  const { add, refused, pass } = open();
  // The start keeps the event loop busy for 9 s, and only then the timer and the sockets have their turn.
  pass(9000);
  vi.advanceTimersToNextTimer();
  add();
  await vi.advanceTimersByTimeAsync(1000);
  expect(refused()).toBe(1);
  // The next turn was short.
  add();
  await vi.advanceTimersByTimeAsync(WAIT_MS - 200);
  expect(refused()).toBe(1);
});

it('a port that is opened when the process is ready is closed until then', async () => {
  vi.useRealTimers();
  const bound = await bind({ host: '127.0.0.1', port: 0, isOpenedLater: true });
  onTestFinished(() => bound.close());
  expect(bound.url).toBe('http://127.0.0.1:0');
  await bound.open();
  expect(await statusOf(bound.url, '/healthz')).toBe(200);
  const never = await bind({ host: '127.0.0.1', port: 0, isOpenedLater: true });
  await never.close();
});
