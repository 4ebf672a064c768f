import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { createServer } from '../../src/cli/listen/server.ts';
import { listen } from '../support/listen.ts';

/** The requests of `jobferry listen` to a service. */

it('a request leaves nothing on the signal that ends the command', async () => {
  const url = await listen((_req, res) => res.end('{"data":{"answerTunnel":{"tunnelId":"t"}}}'));
  const { signal } = new AbortController();
  await createServer(url, 'k', signal).answer('t', []);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  // Node.js keeps the signals that follow this one in a set.
  const members = Object.getOwnPropertySymbols(signal).map((name) => Reflect.get(signal, name) as { size?: number });
  expect(members.reduce((left, member) => left + (member?.size ?? 0), 0)).toBe(0);
});

it('a request ends in time, whatever the service sends meanwhile, also after a garbage collection', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let open = 0;
  const url = await listen((req, res) => {
    if (req.url === '/answers/graphql') {
      res.end('{"data":{"answerTunnel":{"tunnelId":"t"}}}');
      return;
    }
    open += 1;
    const drips = setInterval(() => res.write(' '), 20);
    res.on('close', () => clearInterval(drips));
  });
  const { signal } = new AbortController();
  // Optimised code keeps no more than it needs later.
  const fast = createServer(`${url}/answers`, 'k', signal, 30_000);
  for (let n = 0; n < 2000; n += 1) await fast.answer('t', []);
  const slow = createServer(url, 'k', signal, 500);
  let ended = 0;
  for (let n = 0; n < 5; n += 1) {
    slow.answer('t', []).catch(() => {
      ended += 1;
    });
  }
  await vi.waitFor(() => expect(open).toBe(5), { timeout: 20_000 });
  collect();
  await vi.waitFor(() => expect(ended).toBe(5), { timeout: 20_000 });
});

it('a request ends with the command', async () => {
  const url = await listen(() => undefined);
  const stopping = new AbortController();
  const asked = createServer(url, 'k', stopping.signal).answer('t', []);
  stopping.abort(new Error('stopped'));
  await expect(asked).rejects.toThrow('stopped');
  await expect(createServer(url, 'k', stopping.signal).answer('t', [])).rejects.toThrow('stopped');
});
