import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createServer, type Server } from 'node:tls';
import type { NewClaim } from '../../db/delivery/claim-new.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type Moment, thisMoment } from '../moment.ts';
import { type FromApi, IDENTITY, type LinkAddress, onMessages, PROTOCOL, revived, send, TLS } from './messages.ts';

/** Interval of grants while the worker may claim. */
const GRANT_EVERY_MS = 500;
/** Limit of the jobs and bytes that one API may hand over before it needs the next grant. */
const WINDOW = { jobs: 64, bytes: 4 * 1024 * 1024 };
/** API processes that may be connected. */
const MAX_LINKS = 256;
const HANDSHAKE_MS = 2000;
/** How long a worker that stops waits for the publishes that may still claim for it: longer than any statement. */
const END_MS = 5000;
/** Permits whose moments are known: of 8 s, longer than a publish that has begun may wait and run. */
const KEPT_PERMITS = 16;

interface Options {
  workerId: number;
  leaseMs: number;
  log: Logger;
  /** Whether the worker may claim now. */
  mayClaim: () => boolean;
  /** Free slots of the process. */
  freeSlots: () => number;
  /** Whether this process may deliver jobs of the queue. */
  mayDeliver: (queueId: string) => boolean;
  /** Delivers jobs that were claimed for this worker, or gives them back. @param startedAt before the claim */
  adopt: (claim: NewClaim, startedAt: Moment) => void;
  /** Called when claims may exist that do not arrive: a connection was lost, or a publish has failed. */
  onUnsure: () => void;
}

interface Link {
  readonly socket: Socket;
  received: { jobs: number; bytes: number };
  granted: { jobs: number; bytes: number };
  /** Whether the API has said that nothing is on its way. */
  hasEnded: boolean;
}

/**
 * Takes jobs that API processes have claimed for this worker when they stored them (docs/decisions/0063): no claim, and
 * no notification. Claims that are lost with a connection are found after `onUnsure`.
 */
export class LinkServer {
  readonly #options: Options;
  readonly #server: Server;
  readonly #key = randomBytes(32);
  readonly #links = new Set<Link>();
  /** When each permit was made. The first one stands for all that are older. */
  readonly #moments = new Map([[0, thisMoment()]]);
  #permit = 0;
  #timer: NodeJS.Timeout | null = null;
  #isEnding = false;

  private constructor(options: Options) {
    this.#options = options;
    const pskCallback = (_socket: unknown, identity: string) => (identity === IDENTITY ? this.#key : null);
    this.#server = createServer({ ...TLS, handshakeTimeout: HANDSHAKE_MS, pskCallback } as never, (socket) =>
      this.#connected(socket),
    );
    this.#server.maxConnections = MAX_LINKS;
    // Another program, or one without the key.
    this.#server.on('tlsClientError', () => undefined);
  }

  /** @returns null if the port cannot be opened: then every job is claimed by this worker itself */
  static async start(host: string, port: number, options: Options): Promise<LinkServer | null> {
    const link = new LinkServer(options);
    try {
      link.#server.listen(port, host);
      await once(link.#server, 'listening');
    } catch (error) {
      options.log.warn({ err: error, host, port }, 'API processes cannot hand jobs over to this worker');
      return null;
    }
    link.#server.on('error', (error) => options.log.warn({ err: error }, 'the port for handed over jobs has failed'));
    return link;
  }

  get address(): LinkAddress {
    const { workerId, leaseMs } = this.#options;
    const { address, port } = this.#server.address() as AddressInfo;
    const key = this.#key.toString('base64');
    return { protocol: PROTOCOL, workerId, leaseMs, hosts: hostsOf(address), port, key };
  }

  /** Call when the worker may claim again. */
  resume(): void {
    this.#timer ??= setInterval(() => this.#grantAll(), GRANT_EVERY_MS).unref();
    this.#grantAll();
  }

  /** Takes no further jobs. Resolves when no API can hand over any more. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const { socket } of this.#links) send(socket, { ends: true });
    const closed = once(this.#server, 'close');
    this.#server.close();
    const timer = setTimeout(() => {
      for (const { socket } of this.#links) socket.destroy();
    }, END_MS);
    await closed;
    clearTimeout(timer);
  }

  #connected(socket: Socket): void {
    const nothing = { jobs: 0, bytes: 0 };
    const link: Link = { socket, received: { ...nothing }, granted: { ...nothing }, hasEnded: false };
    this.#links.add(link);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#links.delete(link);
      if (!link.hasEnded) this.#options.onUnsure();
    });
    onMessages(socket, (message) => this.#received(link, message));
    if (this.#isEnding) send(socket, { ends: true });
    else if (this.#options.mayClaim()) this.resume();
  }

  #received(link: Link, message: FromApi): void {
    if ('bye' in message) {
      link.hasEnded = true;
      return;
    }
    if ('unsure' in message) {
      this.#options.onUnsure();
      return;
    }
    const { permit } = message;
    const claim = revived(message.claim);
    link.received.jobs += claim.rows.length;
    for (const { payload } of claim.rows) link.received.bytes += payload.length;
    const startedAt = this.#moments.get(permit) ?? (this.#moments.get(0) as Moment);
    for (const queueId of new Set(claim.rows.map((row) => row.queue_id))) {
      if (!this.#options.mayDeliver(queueId)) send(link.socket, { refuses: queueId });
    }
    this.#options.adopt(claim, startedAt);
    if (link.granted.jobs - link.received.jobs < WINDOW.jobs / 2) this.#grant(link);
    else if (link.granted.bytes - link.received.bytes < WINDOW.bytes / 2) this.#grant(link);
  }

  #grantAll(): void {
    if (this.#isEnding) return;
    if (!this.#options.mayClaim() || this.#links.size === 0) {
      if (this.#timer !== null) clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    this.#permit += 1;
    this.#moments.set(this.#permit, thisMoment());
    // The first one stays.
    if (this.#permit > KEPT_PERMITS) this.#moments.delete(this.#permit - KEPT_PERMITS);
    for (const link of this.#links) this.#grant(link);
  }

  #grant(link: Link): void {
    if (this.#isEnding || !this.#options.mayClaim()) return;
    const room = Math.min(WINDOW.jobs, Math.floor(this.#options.freeSlots() / 4));
    link.granted = { jobs: link.received.jobs + room, bytes: link.received.bytes + WINDOW.bytes };
    send(link.socket, { permit: this.#permit, ...link.granted });
  }
}

/** The addresses by which other processes may reach one that listens on `bound`, those of this machine last. */
function hostsOf(bound: string): string[] {
  if (bound !== '0.0.0.0' && bound !== '::') return [bound];
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const usable = all.filter(({ address }) => isIP(address) === 4 || (bound === '::' && !address.startsWith('fe80')));
  const isHere = ({ internal }: { internal: boolean }) => Number(internal);
  return usable.toSorted((a, b) => isHere(a) - isHere(b)).map(({ address }) => address);
}
