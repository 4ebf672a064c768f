import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';
import { account, KEY } from '../support/fake-services.ts';
import { waitFor } from '../support/wait-for.ts';

const LOUD = 'jf_key_of_the_loud_account';
const list = (key: string) => `GET /v1/queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Answers that have come over the connection so far. */
function answersOn(socket: Socket): () => number {
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  return () => text.split('HTTP/1.1 200').length - 1;
}

it.each([
  ['strangers', ''],
  ['an account', list(LOUD)],
])('closes idle connections of %s that has most of them, and none of others', async (_who, first) => {
  const authenticate = async (key: string) => (key === KEY ? account : { ...account, id: 'loud' });
  const api = await testApi({ connections: 40, services: { accounts: { authenticate } } });
  const quiet = Array.from({ length: 5 }, () => api.raw(list(KEY)).socket);
  const answered = quiet.map(answersOn);
  await waitFor(() => answered.every((count) => count() === 1));
  const loud = Array.from({ length: 200 }, () => api.raw(first).socket);
  await waitFor(() => loud.filter(({ destroyed }) => !destroyed).length <= 40);
  for (const socket of quiet) socket.write(list(KEY));
  await waitFor(() => answered.every((count) => count() === 2));
  await waitFor(async () => {
    const another = api.raw(list(KEY).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    return (await another.received.catch(() => '')).includes('HTTP/1.1 200');
  });
  for (const socket of [...loud, ...quiet]) socket.destroy();
});

it('turns new ones away while all have an open request, and takes them again when one has ended', async () => {
  let finish = () => {};
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let asked = 0;
  const authenticate = async () => {
    asked += 1;
    await held;
    return account;
  };
  const api = await testApi({ connections: 3, services: { accounts: { authenticate } } });
  const first = Array.from({ length: 3 }, () => api.raw(list(KEY)).socket);
  const answered = first.map(answersOn);
  await waitFor(() => asked === 3);
  const look = () => api.raw('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').received.catch(() => '');
  expect(await look()).toBe('');
  finish();
  await waitFor(() => answered.every((count) => count() === 1));
  await waitFor(async () => (await look()).includes(' 200 '));
  for (const socket of first) socket.destroy();
});
