import { connect, createServer, type Server, type Socket } from 'node:net';
import { atEndOfFile } from './end-of-file.ts';
import { lastingPort } from './lasting-port.ts';
import { applicationNameIn } from './startup-message.ts';

/**
 * Ways in which a connection can die while one or both ends do not notice. In each the relay still reads what it gets,
 * and passes nothing on; new connections work.
 *
 * - `server`: the server's side is reset; the client's socket stays open and is silent (a host that lost power).
 * - `client`: the client's side is reset; the server keeps the session and its locks (a forgotten NAT entry).
 * - `both`: both sides stay open, and nothing comes through ever again.
 */
export type Break = 'server' | 'client' | 'both';

/** One connection through a relay, while at least one of its sides is open. */
export interface RelayedConnection {
  /** From the client's first message; null before that, and for protocols other than PostgreSQL's. */
  readonly applicationName: string | null;
  /** The port from which the server sees it: `client_port` of `pg_stat_activity`. Null until it is connected. */
  readonly serverSeesPort: number | null;
  /** When it was accepted, in milliseconds since the epoch. */
  readonly since: number;
  /** How it was broken; null while it passes everything on. */
  readonly broken: Break | null;
}

/** A network between two processes that a test can break: all their data passes through here. */
export interface TcpRelay {
  readonly port: number;
  /** Those of which some side is open. */
  connections(): RelayedConnection[];
  /** Every port from which the server has ever seen one of this relay's connections, with the time of the last one. */
  readonly portsEver: ReadonlyMap<number, number>;
  /** Resets what is open and refuses what comes, as when the other side's machine is gone. */
  cut(): Promise<void>;
  /** Passes nothing on, without an error, as when packets are dropped on the way. */
  stall(): void;
  /**
   * Passes nothing more on to PostgreSQL, but its messages, and what it takes to make a connection: statements hang, as
   * when the server has just come back and its disk is slow.
   */
  stallStatements(): void;
  /** Ends a cut or a stall. What was broken stays so. */
  heal(): Promise<void>;
  /**
   * Breaks the open connections whose PostgreSQL client has such an `application_name`, for ever; new ones are not
   * touched.
   * @returns how many were broken
   */
  break(applicationName: RegExp, what: Break): number;
  /** The server gives up what was broken, as it does some day when its own probes are not answered. */
  reap(): void;
  /** Sends what connects from now on to another server, and resets what is open, or breaks it. */
  pointTo(target: { host: string; port: number }, open: 'reset' | Break): void;
}

interface Pair extends RelayedConnection {
  applicationName: string | null;
  serverSeesPort: number | null;
  broken: Break | null;
  client: Socket;
  upstream: Socket;
}

/** Relays a free port of 127.0.0.1 to the target. Closed by itself when the test file is done. */
export async function startTcpRelay(first: { host: string; port: number }): Promise<TcpRelay> {
  const pairs = new Set<Pair>();
  const portsEver = new Map<number, number>();
  let target = first;
  let stalled: 'all' | 'statements' | null = null;
  let server: Server | null = null;
  // While it is cut, nothing listens there.
  const port = await lastingPort();

  function accept(client: Socket): void {
    const upstream = connect({ ...target, allowHalfOpen: true });
    const pair: Pair = {
      applicationName: null,
      serverSeesPort: null,
      since: Date.now(),
      broken: null,
      client,
      upstream,
    };
    pairs.add(pair);
    upstream.once('connect', () => {
      pair.serverSeesPort = upstream.localPort ?? null;
      if (upstream.localPort !== undefined) portsEver.set(upstream.localPort, performance.now());
    });
    client.once('data', (data) => {
      pair.applicationName = applicationNameIn(data);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('data', (data) => {
        if (pair.broken === null) other.write(data);
        if (stalled === 'statements' && socket === upstream && isReadyForQuery(data)) client.pause();
      });
      // On a broken connection the end of one side is lost, too: the other one neither learns nor answers it.
      socket.on('end', () => {
        if (pair.broken === null) other.end();
      });
      socket.on('error', () => undefined); // it closes, which is what counts
      socket.once('close', () => {
        // A side of a broken connection never learns the state of the other side.
        if (pair.broken === null) other.destroy();
        if (client.destroyed && upstream.destroyed) pairs.delete(pair);
      });
      // `on('data')` made it flow.
      if (stalled === 'all') socket.pause();
    }
  }

  function breakOne(pair: Pair, what: Break): void {
    pair.broken = what;
    if (what === 'server') pair.upstream.resetAndDestroy();
    if (what === 'client') pair.client.resetAndDestroy();
    // It reads and drops the data, as a network does, and does not leave it in the sender's buffer.
    pair.client.resume();
    pair.upstream.resume();
  }

  async function open(): Promise<void> {
    const next = createServer({ allowHalfOpen: true }, accept);
    await new Promise<void>((resolve, reject) => {
      next.once('error', reject);
      next.listen(port, '127.0.0.1', resolve);
    });
    server = next;
  }

  function reset(pair: Pair): void {
    pair.client.resetAndDestroy();
    pair.upstream.resetAndDestroy();
  }

  async function cut(): Promise<void> {
    const closing = server;
    server = null;
    const closed = new Promise((resolve) => (closing === null ? resolve(null) : closing.close(resolve)));
    for (const pair of pairs) reset(pair);
    await closed;
  }

  await open();
  atEndOfFile(cut);
  return {
    port,
    portsEver,
    connections: () => [...pairs],
    cut,
    stall() {
      stalled = 'all';
      for (const { client, upstream } of pairs) for (const socket of [client, upstream]) socket.pause();
    },
    stallStatements() {
      stalled = 'statements';
      for (const { client } of pairs) client.pause();
    },
    async heal() {
      stalled = null;
      for (const { client, upstream } of pairs) for (const socket of [client, upstream]) socket.resume();
      if (server === null) await open();
    },
    break(applicationName, what) {
      const meant = [...pairs].filter(
        (pair) => pair.broken === null && applicationName.test(pair.applicationName ?? ''),
      );
      for (const pair of meant) breakOne(pair, what);
      return meant.length;
    },
    reap() {
      for (const { broken, client, upstream } of pairs) {
        if (broken === null) continue;
        upstream.resetAndDestroy();
        if (client.readableEnded) client.destroy();
      }
    },
    pointTo(next, how) {
      target = next;
      for (const pair of [...pairs]) {
        if (how === 'reset') reset(pair);
        else if (pair.broken === null) breakOne(pair, how);
      }
    },
  };
}

/** Whether a server's data ends with its message that it waits for a statement. */
function isReadyForQuery(data: Buffer): boolean {
  return data.at(-6) === 0x5a && data.readUInt32BE(data.length - 5) === 5;
}

type Ports = Pick<TcpRelay, 'portsEver'>;

/**
 * Ports that belong to connections of this relay: the system gives a port that is free again to any other connection.
 * @param all the relays, also of other processes
 */
export function portsOf(relay: Ports, all: Iterable<Ports>): Set<number> {
  const others = [...all].filter((other) => other !== relay);
  const isOwn = ([port, at]: readonly [number, number]) =>
    others.every(({ portsEver }) => (portsEver.get(port) ?? Number.NEGATIVE_INFINITY) < at);
  return new Set([...relay.portsEver].filter(isOwn).map(([port]) => port));
}

/** A relay to a database, and the address of the database by way of it. */
export async function relayDatabase(databaseUrl: string): Promise<{ relay: TcpRelay; url: string }> {
  const relay = await startTcpRelay(addressOf(databaseUrl));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(relay.port);
  return { relay, url: url.href };
}

/** Where a connection string leads. */
export function addressOf(databaseUrl: string): { host: string; port: number } {
  const { hostname, port } = new URL(databaseUrl);
  return { host: hostname, port: Number(port) };
}
