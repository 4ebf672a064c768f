import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JobferryError } from '../../src/domain/errors.ts';
import { Admission } from '../../src/http/admission.ts';
import { waitFor } from '../support/wait-for.ts';
import { testApi } from './support/api.ts';
import { account, KEY } from './support/fake-services.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Answers so many a second for a while, and asks for so many more; answers how many were turned away. */
function load(admission: Admission, account: string, options: { seconds: number; answered: number; asked: number }) {
  let underWay = 0;
  let refused = 0;
  for (let tick = 0; tick < options.seconds * 100; tick += 1) {
    vi.advanceTimersByTime(10);
    for (let n = 0; n < options.asked / 100; n += 1) {
      if (admission.enter(account)) underWay += 1;
      else refused += 1;
    }
    for (let n = 0; n < options.answered / 100 && underWay > 0; n += 1, underWay -= 1) admission.leave(account);
  }
  return { underWay, refused };
}

describe('admission', () => {
  it('waits a burst out', () => {
    const admission = new Admission();
    const entered = Array.from({ length: 5000 }, () => admission.enter('a'));
    expect(entered).not.toContain(false);
  });

  it('turns nothing away that is answered as fast as it comes', () => {
    expect(load(new Admission(), 'a', { seconds: 10, answered: 1000, asked: 1000 })).toEqual({
      underWay: 0,
      refused: 0,
    });
  });

  it('keeps what lies before the process below a second of work, whatever comes', () => {
    const { underWay, refused } = load(new Admission(), 'a', { seconds: 10, answered: 1000, asked: 3000 });
    expect(underWay).toBeLessThan(1000);
    expect(refused).toBeGreaterThan(15_000);
  });

  it('turns away who has the most, and nobody who has little', () => {
    const admission = new Admission();
    load(admission, 'loud', { seconds: 10, answered: 1000, asked: 3000 });
    expect(admission.enter('loud')).toBe(false);
    expect(Array.from({ length: 20 }, () => admission.enter('quiet'))).not.toContain(false);
  });

  it('takes all again when the load has gone', () => {
    const admission = new Admission();
    const { underWay } = load(admission, 'a', { seconds: 10, answered: 1000, asked: 3000 });
    for (let n = 0; n < underWay; n += 1) admission.leave('a');
    expect(Array.from({ length: 90 }, () => admission.enter('a'))).not.toContain(false);
  });
});

it.each([
  ['POST', '/v1/queues/mails/jobs', 'gone; nothing was stored, try again'],
  ['GET', '/v1/queues', 'gone'],
])('a key that cannot be looked up stores nothing: %s %s', async (method, path, error) => {
  vi.useRealTimers();
  const authenticate = () => Promise.reject(new JobferryError('unavailable', 'gone', { stored: 'unknown' }));
  const api = await testApi({ services: { authenticate } });
  expect(await api.send(method, path, { body: '{"payload":{}}' })).toMatchObject({ status: 503, json: { error } });
});

it('forgets publishes of clients that went while their key was looked up', async () => {
  vi.useRealTimers();
  let isSlow = true;
  let waiting = 0;
  const open: (() => void)[] = [];
  const authenticate = async () => {
    waiting += 1;
    if (isSlow) await new Promise<void>((resolve) => open.push(resolve));
    return account;
  };
  const api = await testApi({ services: { authenticate } });
  // More than are ever too many at once.
  const gone = Array.from({ length: 120 }, () =>
    api.raw(
      `POST /v1/queues/mails/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 14\r\n\r\n{"payload":{}}`,
    ),
  );
  await waitFor(() => waiting === 120);
  for (const { socket } of gone) socket.resetAndDestroy();
  await wait(200);
  isSlow = false;
  for (const resolve of open) resolve();
  // Longer than a burst.
  await wait(700);
  expect((await api.send('POST', '/v1/queues/mails/jobs', { body: '{"payload":{}}' })).status).toBe(201);
});
