import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { pause, untilSuccess } from '../../pacing/retry.ts';
import { type Address, createClient } from './address.ts';
import { type Database, type DatabaseLog, type Statement, translated } from './database.ts';
import { KEEP_ALIVE } from './keep-alive.ts';
import type { OriginGuard } from './origin.ts';

/** Limit of a message; PostgreSQL accepts less than 8000 bytes. */
export const MAX_MESSAGE_BYTES = 7900;

// Every NOTIFY holds a lock of the whole server until its transaction ends. So it has its own transaction, which does
// not wait for the disk: messages are about committed changes and need not survive a crash.
const NOTIFY: Statement = {
  name: 'notify',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify($1, message) from unnest($2::text[]) as message`,
};

/** Sends messages to every listener of the database, in one transaction. */
export async function notify(db: Database, channel: string, messages: readonly string[]): Promise<void> {
  if (messages.length > 0) await db.query(NOTIFY, [channel, messages]);
}

export interface ListenerOptions {
  url: Address;
  log: DatabaseLog;
  /** The process's guard: a server with older data does not send the notifications of the present one. */
  origin: OriginGuard;
  /** Interval of the connection test in milliseconds: a dead connection looks like one without messages. */
  pingMs?: number;
}

/** The channels that a part of the process listens to. */
interface Subscription {
  /** Message handlers by channel. */
  channels: Readonly<Record<string, (message: string) => void>>;
  /**
   * Sent on each new connection as soon as it listens, so that other processes know that it missed earlier messages.
   */
  greeting?: { channel: string; message: string };
  /** Called when a connection listens. Messages since the loss of the last connection were missed. */
  onListening?(): void;
}

const TAKE_LOCK = 'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken';
const RELEASE_LOCK = 'select pg_advisory_unlock(hashtextextended($1, 0))';

const PING_MS = 1000;
/**
 * The interval once no message has come for so long. A message that a dead connection loses then is late by as much as
 * any lost one (I-36).
 */
const QUIET = { afterMs: 10_000, pingMs: 5000 };
/** Time limit of a ping. */
const PONG_MS = 1500;
const RECONNECT_MS = { first: 250, last: 1000 };
/** How long `stop` waits for the server. */
const GOODBYE_MS = 1000;

/** The process's connection for notifications. It reconnects when the connection is lost, until `stop` is called. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #subscriptions: Subscription[] = [];
  readonly #stopping = new AbortController();
  #client: pg.Client | null = null;
  /** The connection while it listens. */
  #listening: pg.Client | null = null;
  /** Runs the statements of the connection that listens. */
  #turns = new Turns();
  /** The connection that took a lock, by the name of the lock. A lock ends with its connection. */
  readonly #locks = new Map<string, pg.Client>();
  #done: Promise<void> = Promise.resolve();

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Must be called before `start`. */
  subscribe(subscription: Subscription): void {
    this.#subscriptions.push(subscription);
  }

  /** Resolves after the first try to connect, even if it failed. */
  async start(): Promise<void> {
    await new Promise<void>((tried) => {
      this.#done = this.#keepUp(tried);
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const gone = Promise.all([this.#client?.end().catch(() => undefined), this.#done]);
    await Promise.race([gone, sleep(GOODBYE_MS, undefined, { ref: false })]);
  }

  /**
   * Takes an advisory lock on this connection unless another process holds it; keeps it if this one holds it already.
   * The server releases it when the process ends or the connection is lost. One call at a time.
   * @returns whether this process holds the lock
   */
  async lock(name: string): Promise<boolean> {
    const client = this.#listening;
    if (client === null || this.holds(name)) return client !== null;
    const { rows } = await this.#turns.run(() => client.query<{ taken: boolean }>(TAKE_LOCK, [name]));
    if (rows[0]?.taken === true) this.#locks.set(name, client);
    return this.holds(name);
  }

  holds(name: string): boolean {
    return this.#listening !== null && this.#locks.get(name) === this.#listening;
  }

  async unlock(name: string): Promise<void> {
    const client = this.#locks.get(name);
    if (client === undefined) return;
    this.#locks.delete(name);
    if (client === this.#listening) await this.#turns.run(() => client.query(RELEASE_LOCK, [name]));
  }

  async #keepUp(tried: () => void): Promise<void> {
    const { signal } = this.#stopping;
    const retries = {
      signal,
      waitMs: (failures: number) => Math.min(RECONNECT_MS.first * 2 ** (failures - 1), RECONNECT_MS.last),
      onFailure: (error: unknown) => {
        this.#options.log.warn({ err: translated(error) }, 'notifications: cannot listen yet');
        tried();
      },
    };
    while (!signal.aborted) {
      const connection = await untilSuccess(() => this.#connect(), retries);
      if (connection === null) break;
      this.#reportListening();
      tried();
      await connection.lost;
      await pause(RECONNECT_MS.first, signal);
    }
    tried();
  }

  #reportListening(): void {
    for (const { onListening } of this.#subscriptions) {
      try {
        onListening?.();
      } catch (error) {
        this.#options.log.warn({ err: error }, 'notifications: a listener failed when the connection was made');
      }
    }
  }

  /** Resolves when the connection listens. `lost` resolves when the connection has ended. */
  async #connect(): Promise<{ lost: Promise<void> }> {
    const { url, log, origin, pingMs = PING_MS } = this.#options;
    const client = createClient(url, {
      application_name: 'jobferry listener',
      connectionTimeoutMillis: 3000,
      query_timeout: 4500,
      ...KEEP_ALIVE,
    });
    this.#client = client;
    const lost = new Promise<void>((resolve) => client.once('end', resolve));
    const end = () => {
      if (this.#listening === client) this.#listening = null;
      void client.end().catch(() => undefined);
    };
    client.on('error', (error) => {
      log.warn({ err: error }, 'notifications: connection lost');
      end();
    });
    let heardAt = performance.now();
    client.on('notification', ({ channel, payload }) => {
      heardAt = performance.now();
      for (const { channels } of this.#subscriptions) channels[channel]?.(payload ?? '');
    });
    try {
      await client.connect();
      await origin.check(client);
      const channels = new Set(this.#subscriptions.flatMap((subscription) => Object.keys(subscription.channels)));
      await client.query([...channels].map((channel) => `listen ${client.escapeIdentifier(channel)}`).join(';'));
      for (const { greeting } of this.#subscriptions) {
        if (greeting !== undefined) await client.query(NOTIFY.text, [greeting.channel, [greeting.message]]);
      }
    } catch (error) {
      end();
      throw error;
    }
    const pinging = new AbortController();
    const turns = new Turns();
    const everyMs = () => (performance.now() - heardAt > QUIET.afterMs ? Math.max(pingMs, QUIET.pingMs) : pingMs);
    void ping(client, turns, everyMs, pinging.signal).catch(end);
    this.#listening = client;
    this.#turns = turns;
    const ended = lost.finally(() => {
      pinging.abort();
      if (this.#listening === client) this.#listening = null;
    });
    return { lost: ended };
  }
}

/** Runs one statement after the other: pg 9 will refuse one on a connection that is busy. */
class Turns {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(statement: () => Promise<T>): Promise<T> {
    const done = this.#last.then(statement, statement);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** Tests the connection until `signal` is aborted. Rejects when the server does not reply within the query time-out. */
async function ping(client: pg.Client, turns: Turns, everyMs: () => number, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(everyMs(), undefined, { signal });
    const question: pg.QueryConfig & { query_timeout: number } = { text: 'select 1', query_timeout: PONG_MS };
    await turns.run(() => client.query(question));
  }
}
