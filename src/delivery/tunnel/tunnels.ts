import { randomUUID } from 'node:crypto';
import type { Database, DatabaseLog } from '../../db/connection/database.ts';
import { type Listener, notify } from '../../db/connection/notifications.ts';
import {
  endTunnel,
  keepTunnels,
  openerOfTunnel,
  openTunnel,
  type TunnelOpener,
  tunnelledQueues,
} from '../../db/tunnels.ts';
import { type Author, isSameActor } from '../../domain/audit.ts';
import { JobferryError, unavailable } from '../../domain/errors.ts';
import { type Repeated, repeat } from '../../pacing/repeat.ts';
import type { Sender } from '../send.ts';
import { Copies } from './copies.ts';
import { CHANGED, CHANNEL, decodeMessage, encodeAnswers, encodeEnd } from './messages.ts';
import { Tunnel, type TunnelAnswer, type TunnelSettings } from './tunnel.ts';

/**
 * Milliseconds. A tunnel whose client or process has vanished ends within 15 s:
 * without a heartbeat, or by the life of its row, and a round.
 */
const ROUND_MS = 2000;
const KEEP_MS = 3500;
const SILENT_MS = 10_000;
/** Changes that are announced within this time cost one round. */
const SOON_MS = 100;
/** Tunnels of other processes that are known to be open, and for how long. */
const REMOTE = { most: 1000, knownMs: 1000 };

/** The part of a worker that delivers into tunnels. */
interface TunnelWorker {
  wake(queueId: string): void;
  stop(): Promise<void>;
}

interface TunnelsOptions extends TunnelSettings {
  db: Database;
  /** The process's listener, not yet started. */
  listener: Listener;
  log: DatabaseLog;
  /**
   * Starts a worker for tunnels in a process that has no worker, when its first tunnel is opened; null if it has one.
   */
  startWorker: (() => Promise<TunnelWorker>) | null;
}

/**
 * The tunnels of this process, and the queues that have tunnels anywhere (docs/decisions/0051). Only processes with a
 * tunnel of a queue claim its jobs, so payloads and answers never pass from process to process, except an answer that
 * arrives at another one.
 */
export class Tunnels {
  readonly #options: TunnelsOptions;
  readonly #own = new Map<string, Tunnel>();
  readonly #ofQueue = new Map<string, Tunnel[]>();
  /** Queues that have tunnels, as last read. */
  #tunnelled: ReadonlySet<string> = new Set();
  #keptAt = Number.NEGATIVE_INFINITY;
  #rounds: Repeated | null = null;
  #worker: Promise<TunnelWorker> | null = null;
  #wake: (queueId: string) => void = () => undefined;
  #stopping: Promise<void> | null = null;
  #soon: NodeJS.Timeout | null = null;
  /** Tunnels of other processes by account and id, and until when they are known to be open. */
  readonly #remote = new Map<string, { opener: TunnelOpener; until: number }>();

  constructor(options: TunnelsOptions) {
    this.#options = options;
    options.listener.subscribe({
      channels: { [CHANNEL]: (message) => this.#received(message) },
      onListening: () => this.#roundSoon(),
    });
  }

  /** Learns which queues have tunnels. To be called before a worker claims: their jobs are not for its webhook. */
  async read(): Promise<void> {
    this.#tunnelled = await tunnelledQueues(this.#options.db);
  }

  /**
   * Follows what other processes do.
   * @param wake called with a queue whose jobs this process may deliver from now on
   */
  start(wake: (queueId: string) => void): void {
    this.#wake = wake;
    this.#rounds = repeat(ROUND_MS, this.#options.log, 'reading which queues have tunnels', () => this.#round());
  }

  /** Whether this process may deliver jobs of the queue. */
  mayDeliver(queueId: string): boolean {
    if (this.#options.startWorker !== null) return this.#ofQueue.has(queueId);
    return !this.#tunnelled.has(queueId) || this.#ofQueue.has(queueId);
  }

  /** Whether a tunnel of this process takes the deliveries of the queue. */
  takes(queueId: string): boolean {
    return this.#ofQueue.has(queueId);
  }

  /** Wraps the sender of a worker: deliveries of a queue with tunnels go through one of them. */
  wrap(sender: Sender): Sender {
    return {
      ...sender,
      send: (request) => {
        const queueId = request.job?.queueId;
        if (queueId === undefined) return sender.send(request);
        const tunnel = this.#tunnelFor(queueId);
        if (tunnel !== null) return tunnel.send(request);
        return this.mayDeliver(queueId) ? sender.send(request) : Promise.resolve({ abandoned: true });
      },
    };
  }

  /**
   * @returns null if there is no such live queue, or it is marked as production and the tunnel is not forced
   * @throws JobferryError `unavailable` (the process stops)
   */
  async open(by: Author, queueId: string, isForced: boolean): Promise<Tunnel | null> {
    const { db, startWorker } = this.#options;
    const id = randomUUID();
    this.#assertRunning();
    if (startWorker !== null) await this.#ownWorker(startWorker);
    if (!(await openTunnel(db, by, { id, queueId, isForced }))) return null;
    this.#assertRunning();
    const facts = { id, accountId: by.accountId, queueId, openedBy: by.actor, isForced };
    const tunnel = new Tunnel(facts, this.#options);
    this.#own.set(id, tunnel);
    this.#ofQueue.set(queueId, [...(this.#ofQueue.get(queueId) ?? []), tunnel]);
    this.#tunnelled = new Set([...this.#tunnelled, queueId]);
    this.#announce();
    this.#wakeNow(queueId);
    return tunnel;
  }

  /**
   * Takes the answers of a client, or passes them to the process that has its tunnel. Without answers it is a
   * heartbeat. Answers end attempts, so only those of the actor that the deliveries were sent to count.
   * @throws JobferryError `forbidden` (another actor has opened the tunnel)
   */
  async answer({ accountId, actor }: Author, tunnelId: string, answers: readonly TunnelAnswer[]): Promise<void> {
    const own = this.#own.get(tunnelId);
    const opener = own?.accountId === accountId ? own.openedBy : await this.#openerElsewhere(accountId, tunnelId);
    if (opener === null) return;
    if (!isSameActor(opener, actor))
      throw new JobferryError('forbidden', `only the client that opened the tunnel may answer: ${opener.label}`);
    if (this.#take(accountId, tunnelId, answers)) return;
    await notify(this.#options.db, CHANNEL, encodeAnswers(accountId, tunnelId, answers));
  }

  /**
   * The client leaves, or another actor ends it: from now on the queue's jobs go to its webhook,
   * unless it has other tunnels.
   */
  async end({ accountId, actor }: Author, tunnelId: string): Promise<void> {
    const { db } = this.#options;
    const tunnel = this.#own.get(tunnelId);
    if (tunnel?.accountId === accountId) this.lost(tunnel);
    // Its stream may have ended before this call, or be that of another process.
    if (!(await endTunnel(db, accountId, tunnelId, actor))) return;
    await notify(db, CHANNEL, [encodeEnd(accountId, tunnelId), CHANGED]);
    this.#roundSoon();
  }

  /**
   * The stream of a tunnel is gone, but its client may come back. Until the row expires, the queue's jobs wait: they
   * would otherwise reach the webhook when a connection breaks.
   */
  lost(tunnel: Tunnel): void {
    if (!this.#own.delete(tunnel.id)) return;
    const others = (this.#ofQueue.get(tunnel.queueId) ?? []).filter((other) => other !== tunnel);
    if (others.length > 0) this.#ofQueue.set(tunnel.queueId, others);
    else this.#ofQueue.delete(tunnel.queueId);
    tunnel.end();
  }

  /** Returns what makes copies of the deliveries of a queue. */
  copies(accountId: string, queueId: string): Copies {
    return new Copies(this.#options.db, { accountId, queueId }, this.#options);
  }

  /**
   * Opens no more tunnels and renews none, so other processes may open some soon. What is in flight may end; then the
   * streams end, and the clients reconnect.
   * @param drained resolves when the worker of the process has ended its deliveries
   */
  stop(drained: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#stopping ??= this.#stop(drained);
    return this.#stopping;
  }

  async #stop(drained: Promise<unknown>): Promise<void> {
    const own = this.#worker?.then((worker) => worker.stop());
    await Promise.allSettled([drained, own]);
    if (this.#soon !== null) clearTimeout(this.#soon);
    for (const tunnel of [...this.#own.values()]) this.lost(tunnel);
    await this.#rounds?.stop();
  }

  #assertRunning(): void {
    if (this.#stopping !== null) throw unavailable('the process is stopping', 'nothing');
  }

  #tunnelFor(queueId: string): Tunnel | null {
    const tunnels = this.#ofQueue.get(queueId);
    if (tunnels === undefined) return null;
    return tunnels.reduce((least, tunnel) => (tunnel.inFlight < least.inFlight ? tunnel : least));
  }

  async #round(): Promise<void> {
    const { db } = this.#options;
    for (const tunnel of [...this.#own.values()]) if (tunnel.silentMs > SILENT_MS) await this.#endForGood(tunnel);
    const own = [...this.#own.values()];
    if (own.length > 0 && this.#stopping === null && performance.now() - this.#keptAt >= KEEP_MS) {
      const keptAt = performance.now();
      const { ids, hadExpired } = await keepTunnels(db, own);
      this.#keptAt = keptAt;
      if (hadExpired) this.#announce();
      // The queue was deleted, or marked as production.
      for (const tunnel of own) if (!ids.has(tunnel.id)) this.lost(tunnel);
    }
    const before = this.#tunnelled;
    const read = await tunnelledQueues(db);
    // One may have been opened while the statement ran.
    for (const queueId of this.#ofQueue.keys()) read.add(queueId);
    this.#tunnelled = read;
    for (const queueId of before) if (!read.has(queueId)) this.#wakeNow(queueId);
    // A wake-up of another process may have been for a queue that only this one may claim from.
    for (const queueId of this.#ofQueue.keys()) this.#wakeNow(queueId);
  }

  #received(message: string): void {
    const decoded = decodeMessage(message);
    if (decoded === 'changed') this.#roundSoon();
    else if (decoded?.answers !== undefined) this.#take(decoded.accountId, decoded.tunnelId, decoded.answers);
    else if (decoded !== null) {
      const tunnel = this.#own.get(decoded.tunnelId);
      if (tunnel?.accountId === decoded.accountId) void this.#endForGood(tunnel).catch(() => undefined);
    }
  }

  #take(accountId: string, tunnelId: string, answers: readonly TunnelAnswer[]): boolean {
    const tunnel = this.#own.get(tunnelId);
    if (tunnel?.accountId !== accountId) return false;
    tunnel.heartbeat();
    for (const answer of answers) tunnel.answered(answer);
    return true;
  }

  async #endForGood(tunnel: Tunnel): Promise<void> {
    this.lost(tunnel);
    await endTunnel(this.#options.db, tunnel.accountId, tunnel.id);
    this.#announce();
    this.#roundSoon();
  }

  async #openerElsewhere(accountId: string, tunnelId: string): Promise<TunnelOpener | null> {
    const key = `${accountId} ${tunnelId}`;
    const known = this.#remote.get(key);
    if (known !== undefined && known.until > performance.now()) return known.opener;
    this.#remote.delete(key);
    const opener = await openerOfTunnel(this.#options.db, accountId, tunnelId);
    if (opener === null) return null;
    const [oldest] = this.#remote.keys();
    if (this.#remote.size >= REMOTE.most && oldest !== undefined) this.#remote.delete(oldest);
    this.#remote.set(key, { opener, until: performance.now() + REMOTE.knownMs });
    return opener;
  }

  #roundSoon(): void {
    if (this.#stopping !== null) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = null;
      this.#rounds?.runSoon();
    }, SOON_MS);
  }

  /** A message that is lost costs a round of time. */
  #announce(): void {
    notify(this.#options.db, CHANNEL, [CHANGED]).catch(() => undefined);
  }

  #wakeNow(queueId: string): void {
    this.#wake(queueId);
    void this.#worker?.then((worker) => worker.wake(queueId)).catch(() => undefined);
  }

  async #ownWorker(start: () => Promise<TunnelWorker>): Promise<void> {
    this.#worker ??= start();
    try {
      await this.#worker;
    } catch (error) {
      this.#worker = null;
      throw error;
    }
  }
}
