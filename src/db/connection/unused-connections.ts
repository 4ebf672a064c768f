import type pg from 'pg';
import type { DatabaseLog } from './database-log.ts';

const POLL_EVERY_MS = 1000;

/** Connections that their user holds for longer than a statement on purpose, for example for a lock of its session. */
const heldOnPurpose = new WeakSet<object>();

/** Marks a connection that its user will hold without a statement. The mark ends when the connection is released. */
export function holdOnPurpose(client: pg.PoolClient): void {
  heldOnPurpose.add(client);
}

/**
 * Finds connections that were taken from a pool and run no statement. A connection whose user has forgotten it would
 * count as used until the process ends, and `close` would wait for it. After `limitMs` without a statement it is
 * closed, so that the pool can open another one.
 */
export class UnusedConnections {
  readonly #pool: pg.Pool;
  readonly #limitMs: number;
  readonly #log: DatabaseLog;
  /** Connections in use, with the time at which each was taken or its last statement ended. */
  readonly #since = new Map<pg.PoolClient, number>();
  readonly #timer: NodeJS.Timeout;
  /** Time of the last poll: after a suspension of the process, statements may have been due for as long. */
  #polledAt = performance.now();

  constructor(pool: pg.Pool, limitMs: number, log: DatabaseLog) {
    this.#pool = pool;
    this.#limitMs = limitMs;
    this.#log = log;
    pool.on('connect', (client) => {
      // The driver emits it when the last of its statements has ended.
      client.on('drain', () => {
        if (this.#since.has(client)) this.#since.set(client, performance.now());
      });
    });
    pool.on('acquire', (client) => this.#since.set(client, performance.now()));
    pool.on('release', (_error, client) => this.#forget(client));
    pool.on('remove', (client) => this.#forget(client));
    this.#timer = setInterval(() => this.#poll(), POLL_EVERY_MS).unref();
  }

  /** Number of connections that have been in use for a second or longer without a statement. */
  get count(): number {
    const now = performance.now();
    return [...this.#since].filter(([client, since]) => now - since >= POLL_EVERY_MS && isUnused(client)).length;
  }

  /** After the end of the pool only. Until then a connection that is never released would keep the pool from ending. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #poll(): void {
    const now = performance.now();
    const heldUpMs = now - this.#polledAt - POLL_EVERY_MS;
    this.#polledAt = now;
    // The process was suspended, and the users of the connections with it.
    if (heldUpMs > POLL_EVERY_MS) {
      for (const client of this.#since.keys()) this.#since.set(client, now);
      return;
    }
    for (const [client, since] of this.#since) {
      if (now - since < this.#limitMs || !isUnused(client)) continue;
      this.#log.warn(
        { pool: this.#pool.options.application_name, seconds: Math.round((now - since) / 1000) },
        'a database connection was in use without a statement for too long: it is closed and will be replaced',
      );
      this.#forget(client);
      client.release(true);
      // pg-pool throws at a second release, which would hide the error that a late user gets from its next statement.
      client.release = () => undefined;
    }
  }

  #forget(client: pg.PoolClient): void {
    this.#since.delete(client);
    heldOnPurpose.delete(client);
  }
}

function isUnused(client: pg.PoolClient): boolean {
  const { _activeQuery } = client as { _activeQuery?: unknown };
  // graphile-worker holds one connection to listen for notifications.
  return _activeQuery == null && !heldOnPurpose.has(client) && client.listenerCount('notification') === 0;
}
