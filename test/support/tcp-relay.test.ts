import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Break, portsOf, startTcpRelay, type TcpRelay } from './tcp-relay.ts';
import { waitFor } from './wait-for.ts';

/** The fault tests rely on this: which side notices the end of a connection, and which does not. */

function startupMessage(applicationName: string): Buffer {
  const texts = Buffer.from(`user\0jobs\0application_name\0${applicationName}\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + texts.length, 0);
  head.writeUInt32BE(196_608, 4);
  return Buffer.concat([head, texts]);
}

interface Side {
  socket: Socket;
  heard: string;
  closed: boolean;
}

function listenTo(socket: Socket): Side {
  const side = { socket, heard: '', closed: false };
  socket.on('data', (data) => {
    side.heard += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.once('close', () => {
    side.closed = true;
  });
  return side;
}

async function startTarget(): Promise<{ port: number; sides: Side[] }> {
  const sides: Side[] = [];
  const server = createServer((socket) => sides.push(listenTo(socket)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return { port: (server.address() as AddressInfo).port, sides };
}

let target: Awaited<ReturnType<typeof startTarget>>;
let relay: TcpRelay;

beforeEach(async () => {
  target = await startTarget();
  relay = await startTcpRelay({ host: '127.0.0.1', port: target.port });
});

async function open(name: string): Promise<{ client: Side; server: Side }> {
  const before = target.sides.length;
  const client = listenTo(connect(relay.port, '127.0.0.1'));
  client.socket.write(startupMessage(name));
  await waitFor(() => target.sides[before]?.heard.includes(name));
  return { client, server: target.sides[before] as Side };
}

/** Resolves when data sent before has had the time to arrive: another connection's round trip is over. */
async function aRoundTripLater(): Promise<void> {
  const { client, server } = await open('another');
  server.socket.write('echo');
  await waitFor(() => client.heard === 'echo');
  client.socket.destroy();
}

describe('a relay', () => {
  it('knows connections by the name that PostgreSQL clients give', async () => {
    await open('lease lock');
    await open('pool');
    expect(relay.connections().map(({ applicationName }) => applicationName)).toEqual(['lease lock', 'pool']);
    expect(relay.connections().every(({ serverSeesPort }) => relay.portsEver.has(serverSeesPort ?? 0))).toBe(true);
  });

  it('leaves a port to the relay that used it last', () => {
    const [former, latter] = [
      {
        portsEver: new Map([
          [1, 10],
          [2, 10],
        ]),
      },
      { portsEver: new Map([[2, 20]]) },
    ];
    expect([portsOf(former, [former, latter]), portsOf(latter, [former, latter])]).toEqual([
      new Set([1]),
      new Set([2]),
    ]);
  });

  it.each<[Break, client: boolean, server: boolean]>([
    ['server', false, true],
    ['client', true, false],
    ['both', false, false],
  ])('breaks what is meant: %s', async (what, clientHears, serverHears) => {
    const meant = await open('lease lock');
    const other = await open('pool');
    expect(relay.break(/^lease lock$/, what)).toBe(1);
    meant.client.socket.write('from the client');
    meant.server.socket.write('from the server');
    if (clientHears) await waitFor(() => meant.client.closed);
    if (serverHears) await waitFor(() => meant.server.closed);
    await aRoundTripLater();
    expect([meant.client.closed, meant.server.closed]).toEqual([clientHears, serverHears]);
    expect(meant.client.heard + meant.server.heard).not.toMatch(/from the/);
    // A side that gives up does not inform the other.
    meant.client.socket.destroy();
    await aRoundTripLater();
    expect(meant.server.closed).toBe(serverHears);
    other.client.socket.write('still here');
    await waitFor(() => other.server.heard.includes('still here'));
  });

  it('sends new connections to another server, and resets the earlier ones or leaves them silent', async () => {
    const reset = await open('first');
    const next = await startTarget();
    relay.pointTo({ host: '127.0.0.1', port: next.port }, 'reset');
    await waitFor(() => reset.client.closed && reset.server.closed);
    target = next;
    const silent = await open('second');
    relay.pointTo({ host: '127.0.0.1', port: next.port }, 'server');
    await waitFor(() => silent.server.closed);
    await aRoundTripLater();
    expect(silent.client.closed).toBe(false);
  });
});
