import { randomUUID } from 'node:crypto';
import type { Database, DatabaseLog } from '../db/connection/database.ts';
import { type Listener, notify } from '../db/connection/notifications.ts';
import { endTunnels, keepTunnels, openTunnel, tunnelledQueues } from '../db/tunnels.ts';
import type { Sender } from '../delivery/send.ts';
import type { Author } from '../domain/audit.ts';
import { type Repeated, repeat } from '../pacing/repeat.ts';
import { Copies } from './copies.ts';
import { CHANGED, CHANNEL, decodeMessage, encodeAnswers, encodeEnd } from './messages.ts';
import { Tunnel, type TunnelAnswer, type TunnelSettings } from './tunnel.ts';

/** Milliseconds. A tunnel whose client or process has vanished ends within 15 s: by silence and a round, or by the life of its row and a round. */
const ROUND_MS = 2000;
const KEEP_MS = 3500;
const SILENT_MS = 10_000;

/** The part of a worker that delivers into tunnels. */
export interface TunnelWorker {
  wake(queueId: string): void;
  stop(): Promise<void>;
}

export interface TunnelsOptions extends TunnelSettings {
  db: Database;
  /** The process's listener, not yet started. */
  listener: Listener;
  log: DatabaseLog;
  /** Starts a worker for tunnels in a process that has no worker, when its first tunnel is opened; null if it has one. */
  startWorker: (() => Promise<TunnelWorker>) | null;
}

/**
 * The tunnels of this process, and the queues that have tunnels anywhere (docs/decisions/0051). Only processes with a tunnel of a
 * queue claim its jobs, so payloads and answers never pass from process to process, except an answer that arrives at another one.
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
  #hasStopped = false;

  constructor(options: TunnelsOptions) {
    this.#options = options;
    options.listener.subscribe({
      channels: { [CHANNEL]: (message) => this.#heard(message) },
      onListening: () => this.#rounds?.runSoon(),
    });
  }

  /** Follows what other processes do. @param wake called with a queue whose jobs this process may deliver from now on */
  start(wake: (queueId: string) => void): void {
    this.#wake = wake;
    this.#rounds = repeat(ROUND_MS, this.#options.log, 'reading which queues have tunnels', () => this.#round());
  }

  /** Whether this process may deliver jobs of the queue. */
  mayDeliver(queueId: string): boolean {
    if (this.#options.startWorker !== null) return this.#ofQueue.has(queueId);
    return this.#tunnelled.size === 0 || !this.#tunnelled.has(queueId) || this.#ofQueue.has(queueId);
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

  /** @returns null if there is no such live queue */
  async open(by: Author, queueId: string, isForced: boolean): Promise<Tunnel | null> {
    const { db, startWorker } = this.#options;
    const id = randomUUID();
    if (startWorker !== null && !this.#hasStopped) await this.#ownWorker(startWorker);
    if (!(await openTunnel(db, by, { id, queueId, isForced }))) return null;
    const tunnel = new Tunnel({ id, accountId: by.accountId, queueId, openedBy: by.actor.label }, this.#options);
    this.#own.set(id, tunnel);
    this.#ofQueue.set(queueId, [...(this.#ofQueue.get(queueId) ?? []), tunnel]);
    this.#tunnelled = new Set([...this.#tunnelled, queueId]);
    this.#announce();
    this.#wakeNow(queueId);
    return tunnel;
  }

  /** Takes the answers of a client, or passes them to the process that has its tunnel. No answers: the client shows that it is there. */
  async answer(accountId: string, tunnelId: string, answers: readonly TunnelAnswer[]): Promise<void> {
    if (this.#take(accountId, tunnelId, answers)) return;
    await notify(this.#options.db, CHANNEL, encodeAnswers(accountId, tunnelId, answers));
  }

  /** The client leaves: from now on the queue's jobs go to its webhook, unless it has other tunnels. */
  async end(accountId: string, tunnelId: string): Promise<void> {
    const { db } = this.#options;
    const tunnel = this.#own.get(tunnelId);
    if (tunnel?.accountId === accountId) this.lost(tunnel);
    // Its stream may have ended before this call, or be that of another process.
    await endTunnels(db, accountId, [tunnelId]);
    await notify(db, CHANNEL, [encodeEnd(accountId, tunnelId), CHANGED]);
    this.#rounds?.runSoon();
  }

  /**
   * The stream of a tunnel is gone, but its client may come back. Until the row expires, the queue's jobs wait: they would
   * otherwise reach the webhook when a connection breaks.
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

  async stop(): Promise<void> {
    this.#hasStopped = true;
    // The rows live on: a client that reconnects gets what waits from another process.
    for (const tunnel of [...this.#own.values()]) this.lost(tunnel);
    await this.#rounds?.stop();
    const worker = await this.#worker?.catch(() => null);
    await worker?.stop();
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
    if (own.length > 0 && performance.now() - this.#keptAt >= KEEP_MS) {
      const keptAt = performance.now();
      const kept = await keepTunnels(db, own);
      this.#keptAt = keptAt;
      // The queue was deleted.
      for (const tunnel of own) if (!kept.has(tunnel.id)) this.lost(tunnel);
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

  #heard(message: string): void {
    const decoded = decodeMessage(message);
    if (decoded === 'changed') this.#rounds?.runSoon();
    else if (decoded?.answers !== undefined) this.#take(decoded.accountId, decoded.tunnelId, decoded.answers);
    else if (decoded !== null) {
      const tunnel = this.#own.get(decoded.tunnelId);
      if (tunnel?.accountId === decoded.accountId) void this.#endForGood(tunnel).catch(() => undefined);
    }
  }

  #take(accountId: string, tunnelId: string, answers: readonly TunnelAnswer[]): boolean {
    const tunnel = this.#own.get(tunnelId);
    if (tunnel?.accountId !== accountId) return false;
    tunnel.sign();
    for (const answer of answers) tunnel.answered(answer);
    return true;
  }

  async #endForGood(tunnel: Tunnel): Promise<void> {
    this.lost(tunnel);
    await endTunnels(this.#options.db, tunnel.accountId, [tunnel.id]);
    this.#announce();
    this.#rounds?.runSoon();
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
