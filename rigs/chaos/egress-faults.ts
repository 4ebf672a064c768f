import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';
import { type Fault, note, underWay, untilBusyAgain, untilWorking } from './faults.ts';
import type { NameServer } from './name-server.ts';
import type { FaultKind } from './records.ts';

/** F-37, F-45 and F-46: what lies between the processes and the receivers. */

/** F-37: queries for one host's name get no answer, or every second one gets none. */
export function dropNames(names: NameServer, hosts: readonly string[]): Fault {
  return async (rig) => {
    const host = rig.random.pick(hosts.filter((name) => !dropped.has(name)));
    dropped.add(host);
    const which = rig.random.pick(['all', 'every second'] as const);
    const record = note(rig, 'name-server', { underWay: underWay(rig), hosts: which === 'all' ? [host] : [] });
    names.drop(host, which);
    await wait(rig.random.between(2000, 5000));
    names.drop(host, 'none');
    record.healedAt = Date.now();
    dropped.delete(host);
  };
}

const dropped = new Set<string>();

/** A part of the operator's own way to all receivers. */
export interface Way {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** Once the way is there again, deliveries begin within this time: their pause is half of the outage. */
const RESUMED_MS = 15_000;

/** F-45, F-46: the way is gone until a job names it, and a little longer. */
export function loseWay(kind: Extract<FaultKind, 'proxy-away' | 'names-away'>, way: Way): Fault {
  const error = kind === 'proxy-away' ? 'proxy_unreachable' : 'resolver_unreachable';
  return async (rig) => {
    const record = note(rig, kind, { underWay: underWay(rig), boundMs: RESUMED_MS });
    const meant = rig.queues.filter(({ host, unlimited }) => (kind === 'proxy-away' ? unlimited : host !== null));
    await way.end();
    try {
      await Promise.all(meant.map((queue) => rig.load.publish(queue)));
      const named = `select from job where last_error = $1 and status = 'pending' limit 1`;
      const isNamed = async () => (await rig.readings.query(named, [error])).length > 0;
      await waitFor(isNamed, { timeoutMs: 60_000, everyMs: 100, message: `a job that waits because of ${error}` });
      await wait(rig.random.between(0, 2000));
    } finally {
      record.overAt = Date.now();
      await way.begin();
    }
    await untilWorking(rig, record.overAt);
    record.healedAt = Date.now();
    await untilBusyAgain(rig);
  };
}

export interface Proxy extends Way {
  url: string;
}

/** An HTTP proxy that only opens tunnels. Its end cuts those that are open. */
export async function startProxy(): Promise<Proxy> {
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => open.delete(socket));
  };
  const server = createServer().on('connect', ({ url }: IncomingMessage, client: Socket) => {
    const upstream = connect(Number(url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    for (const socket of [client, upstream]) keep(socket);
  });
  let port = 0;
  const begin = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await begin();
  port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${port}`,
    begin,
    async end() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
