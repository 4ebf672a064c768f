import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { decideAfter } from '../../src/pacing/decide-after.ts';
import { waitFor } from '../support/wait-for.ts';

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

async function connection(): Promise<{ server: Server; client: Socket; accepted: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [accepted] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return { server, client, accepted };
}

it('I-49: a late timer decides after what lies in the sockets was read', async () => {
  const { client, accepted } = await connection();
  const seen: string[] = [];
  client.on('data', () => seen.push('read'));
  decideAfter(100, () => seen.push('decided'));
  accepted.write('in time');
  block(600);
  await waitFor(() => seen.length === 2);
  expect(seen).toEqual(['read', 'decided']);
});

it('a timer that is withdrawn decides nothing, also when it is already late', async () => {
  const { client, accepted } = await connection();
  let isDecided = false;
  const withdraw = decideAfter(100, () => {
    isDecided = true;
  });
  client.on('data', withdraw);
  accepted.write('in time');
  block(600);
  await new Promise<void>((resolve) => decideAfter(400, resolve));
  expect(isDecided).toBe(false);
});
