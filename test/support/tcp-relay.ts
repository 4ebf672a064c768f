import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll } from 'vitest';

/** What breaks of a connection: one of its sides is reset and the other hears nothing of it; `both` swallows for ever. */
export type Break = 'server' | 'client' | 'both';

/** A network between two processes that a test can break: what they say goes through here. */
export interface TcpRelay {
  readonly port: number;
  /** Resets what is open and refuses what comes, as when the other side's machine is gone. */
  cut(): Promise<void>;
  /** Lets nothing through and says nothing about it, as when packets are dropped on the way. */
  stall(): void;
  /** Ends a cut or a stall. */
  heal(): Promise<void>;
  /**
   * Breaks the open connections whose PostgreSQL client has such an `application_name`, for ever; new ones are not
   * touched.
   * @returns how many were broken
   */
  break(applicationName: RegExp, what: Break): number;
}

interface Link {
  client: Socket;
  upstream: Socket;
  /** Null until the client has said it. */
  applicationName: string | null;
}

const relays = new Set<() => Promise<void>>();

afterAll(async () => {
  await Promise.all([...relays].map((close) => close()));
});

/** Relays a free port of 127.0.0.1 to the target. Closed by itself when the test file is done. */
export async function startTcpRelay(target: { host: string; port: number }): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  const links = new Set<Link>();
  let stalled = false;
  let server: Server | null = null;
  let port = 0;

  function accept(client: Socket): void {
    const upstream = connect(target.port, target.host);
    const link: Link = { client, upstream, applicationName: null };
    links.add(link);
    client.once('data', (startup) => {
      link.applicationName = /application_name\0([^\0]*)\0/.exec(startup.toString('latin1'))?.[1] ?? null;
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('data', (data) => other.write(data));
      socket.on('error', () => undefined); // it closes, which is what counts
      socket.once('close', () => {
        sockets.delete(socket);
        if (links.delete(link)) other.destroy();
      });
      // `on('data')` made it flow.
      if (stalled) socket.pause();
    }
  }

  /** From now on what comes is dropped, and neither side hears of the other's end. */
  function silence(link: Link): void {
    links.delete(link);
    for (const socket of [link.client, link.upstream]) {
      socket.removeAllListeners('data');
      socket.resume();
    }
  }

  async function open(): Promise<void> {
    const next = createServer(accept);
    await new Promise<void>((resolve, reject) => {
      next.once('error', reject);
      next.listen(port, '127.0.0.1', resolve);
    });
    port = (next.address() as AddressInfo).port;
    server = next;
  }

  async function cut(): Promise<void> {
    const closing = server;
    server = null;
    const closed = new Promise((resolve) => (closing === null ? resolve(null) : closing.close(resolve)));
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  }

  await open();
  relays.add(cut);
  return {
    port,
    cut,
    stall() {
      stalled = true;
      for (const socket of sockets) socket.pause();
    },
    async heal() {
      stalled = false;
      for (const socket of sockets) socket.resume();
      if (server === null) await open();
    },
    break(applicationName, what) {
      const broken = [...links].filter((link) => applicationName.test(link.applicationName ?? ''));
      for (const link of broken) {
        silence(link);
        if (what === 'server') link.upstream.resetAndDestroy();
        if (what === 'client') link.client.resetAndDestroy();
      }
      return broken.length;
    },
  };
}

/** A relay to a database, and the address of the database by way of it. */
export async function relayDatabase(databaseUrl: string): Promise<{ relay: TcpRelay; url: string }> {
  const url = new URL(databaseUrl);
  const relay = await startTcpRelay({ host: url.hostname, port: Number(url.port) });
  url.hostname = '127.0.0.1';
  url.port = String(relay.port);
  return { relay, url: url.href };
}
