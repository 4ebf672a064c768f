import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/connection/database.ts';
import { findQueue } from '../../db/operator/queues.ts';
import { pauseQueue, resumeQueue } from '../../db/queues/operations.ts';
import type { Actor } from '../../domain/audit.ts';

const LABEL = 'jobferry dev';
const PROBE_EVERY_MS = 300;
const PROBE_TIMEOUT_MS = 1000;

/** A queue of a target. */
export interface ForwardedQueue {
  id: string;
  name: string;
  accountId: string;
  url: URL;
}

interface Options {
  db: Database;
  lifetimeMs: number;
  onDown(queue: ForwardedQueue): void;
  onUp(queue: ForwardedQueue): void;
  onError(error: unknown): void;
}

/** Pauses the queue of a target while nothing listens there. A pause that a person made stays. */
export class TargetPauses {
  readonly #options: Options;
  readonly #stopped = new AbortController();
  /** Ids of the queues whose targets are looked for. */
  readonly #waiting = new Set<string>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Pauses the queue, and resumes it when something listens. */
  async pause(queue: ForwardedQueue): Promise<void> {
    const actor: Actor = { type: 'operator', id: null, label: `${LABEL}: nothing listens at ${queue.url.host}` };
    await pauseQueue(this.#options.db, { accountId: queue.accountId, actor }, queue.id);
    if (this.#waiting.has(queue.id) || this.#stopped.signal.aborted) return;
    this.#options.onDown(queue);
    this.#waiting.add(queue.id);
    const running = this.#waitFor(queue)
      .catch(this.#options.onError)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Pauses or resumes the queue by what listens now: an earlier run may have left it paused. */
  async look(queue: ForwardedQueue): Promise<void> {
    if (await listens(queue.url)) await this.#resume(queue);
    else await this.pause(queue);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#running);
  }

  async #waitFor(queue: ForwardedQueue): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && !(await listens(queue.url))) {
      await sleep(PROBE_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
    // From here on a delivery that meets nothing begins a wait of its own.
    this.#waiting.delete(queue.id);
    if (!signal.aborted && (await this.#resume(queue))) this.#options.onUp(queue);
  }

  /** @returns false for a pause that a person made */
  async #resume({ id, accountId }: ForwardedQueue): Promise<boolean> {
    const { db, lifetimeMs } = this.#options;
    const found = await findQueue(db, id);
    if (found?.queue.pausedBy?.startsWith(LABEL) !== true) return false;
    return resumeQueue(db, { accountId, actor: { type: 'operator', id: null, label: LABEL } }, id, lifetimeMs);
  }
}

function listens({ hostname, port, protocol }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({
      host,
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      timeout: PROBE_TIMEOUT_MS,
    });
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
    socket.on('timeout', () => end(false));
  });
}
