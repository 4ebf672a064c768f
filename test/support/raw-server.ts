import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface RawServer {
  url: string;
  port: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** The data received on each connection. */
  received: string[];
  /** Bytes handed to the kernel on each connection; set when it closes. */
  sent: number[];
  waitForClosed(connections: number): Promise<void>;
  close(): Promise<void>;
}

/** A TCP server that speaks whatever a test likes, for receivers that no HTTP library would be. */
export async function startRawServer(onConnection: (socket: Socket, number: number) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const received: string[] = [];
  const sent: number[] = [];
  let connections = 0;
  let closed = 0;
  const onClosed = new Set<() => void>();
  const server = createServer((socket) => {
    const index = connections++;
    received[index] = '';
    sockets.add(socket);
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1');
    });
    // Senders hang up in the middle here; that is what is being tested.
    socket.on('error', () => {});
    socket.on('close', () => {
      sent[index] = socket.bytesWritten;
      sockets.delete(socket);
      closed += 1;
      for (const check of onClosed) check();
    });
    onConnection(socket, connections);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get connections() {
      return connections;
    },
    received,
    sent,
    waitForClosed(count) {
      return new Promise((resolve) => {
        const check = () => {
          if (closed < count) return;
          onClosed.delete(check);
          resolve();
        };
        onClosed.add(check);
        check();
      });
    },
    async close() {
      const ended = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await ended;
    },
  };
}
