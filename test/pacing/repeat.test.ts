import { afterEach, expect, it } from 'vitest';
import { type Repeated, repeat } from '../../src/pacing/repeat.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { warn: () => undefined };
/** Longer than a test: a second round has another reason. */
const NEVER = 600_000;

const started: Repeated[] = [];

afterEach(async () => {
  for (const loop of started.splice(0)) await loop.stop();
});

/** Counts rounds, each of which lasts until it is ended. */
function openLoop() {
  const ends: (() => void)[] = [];
  let running = 0;
  const loop = repeat(NEVER, log, 'a test', async () => {
    running += 1;
    expect(running).toBe(1);
    await new Promise<void>((end) => ends.push(end));
    running -= 1;
  });
  started.push(loop);
  const rounds = (count: number) => waitFor(() => ends.length === count, { message: `round ${count}` });
  return { loop, ends, rounds, isIdle: () => running === 0 };
}

it('runs a round out of turn', async () => {
  const { loop, ends, rounds, isIdle } = openLoop();
  ends[0]?.();
  await waitFor(isIdle, { message: 'the end of the first round' });
  // The timer of the next round is set in the turn after the end of the work.
  await new Promise((resolve) => setImmediate(resolve));
  loop.runSoon();
  await rounds(2);
  ends[1]?.();
});

it('runs one more round after the running one, however often it is requested, and never two at a time', async () => {
  const { loop, ends, rounds, isIdle } = openLoop();
  loop.runSoon();
  loop.runSoon();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await rounds(2);
  ends[1]?.();
  await waitFor(isIdle, { message: 'the end of the second round' });
  await loop.stop();
  expect(ends).toHaveLength(2);
});

it('runs nothing once it is stopped, and resolves when the running round has ended', async () => {
  const { loop, ends } = openLoop();
  loop.runSoon();
  let isStopped = false;
  const stopping = loop.stop().then(() => {
    isStopped = true;
  });
  expect(isStopped).toBe(false);
  ends[0]?.();
  await stopping;
  loop.runSoon();
  expect(ends).toHaveLength(1);
});
