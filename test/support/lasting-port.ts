import { createServer } from 'node:net';

/**
 * A port on which something can listen later. Those that the system gives away are no such ports: until then another
 * connection of this machine may have got it. So it is one below theirs.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
