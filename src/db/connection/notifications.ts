import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Database, DatabaseLog, Statement } from './database.ts';
import { KEEP_ALIVE } from './keep-alive.ts';
import type { OriginGuard } from './origin.ts';

/** PostgreSQL takes messages of less than 8000 bytes. */
export const MAX_MESSAGE_BYTES = 7900;

// Every NOTIFY holds one lock of the whole server until its transaction has ended, so a transaction of its
// own, and one that does not wait for the disk: a message about what is committed need not survive anything.
const NOTIFY: Statement = {
  name: 'notify',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify($1, message) from unnest($2::text[]) as message`,
};

/** Sends messages to every listener of the database, in one transaction. */
export async function notify(db: Database, channel: string, messages: readonly string[]): Promise<void> {
  if (messages.length > 0) await db.query(NOTIFY, [channel, messages]);
}

export interface ListenOptions {
  url: string;
  log: DatabaseLog;
  /** Of the process: a server of the past tells nothing of what happens. */
  origin: OriginGuard;
  channels: readonly string[];
  /** Sent on the new connection each time it listens, so that whoever is connected has also said so. */
  greeting: { channel: string; message: string };
  onMessage(channel: string, message: string): void;
  /** Listening now; what was sent since the last connection was lost is lost too. */
  onListening(): void;
  /** How often the connection is tried out; a line that swallows everything is not noticed otherwise. */
  pingMs: number;
}

const RECONNECT_MS = { first: 250, last: 5000 };
/** How long stopping waits for a server that may not answer. */
const GOODBYE_MS = 1000;

/** Listens on a connection of its own, and again whenever that is lost, until it is stopped. */
export class Listener {
  readonly #options: ListenOptions;
  readonly #stopping = new AbortController();
  #client: pg.Client | null = null;
  #done: Promise<void> = Promise.resolve();

  private constructor(options: ListenOptions) {
    this.#options = options;
  }

  /** Resolves after the first attempt to connect, however it went. */
  static async start(options: ListenOptions): Promise<Listener> {
    const listener = new Listener(options);
    await new Promise<void>((tried) => {
      listener.#done = listener.#keepUp(tried);
    });
    return listener;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const gone = Promise.all([this.#client?.end().catch(() => undefined), this.#done]);
    await Promise.race([gone, sleep(GOODBYE_MS, undefined, { ref: false })]);
  }

  async #keepUp(tried: () => void): Promise<void> {
    const { signal } = this.#stopping;
    let waitMs = RECONNECT_MS.first;
    while (!signal.aborted) {
      try {
        const connection = await this.#connect();
        waitMs = RECONNECT_MS.first;
        this.#options.onListening();
        tried();
        await connection.lost;
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn({ err: error }, 'live updates: cannot listen yet');
        tried();
      }
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, RECONNECT_MS.last);
    }
  }

  /** Resolves when it listens; `lost` when it no longer does. */
  async #connect(): Promise<{ lost: Promise<void> }> {
    const { url, log, origin, channels, greeting, onMessage, pingMs } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: 'jobferry live updates',
      connectionTimeoutMillis: 3000,
      query_timeout: 4500,
      ...KEEP_ALIVE,
    });
    this.#client = client;
    const lost = new Promise<void>((resolve) => client.once('end', resolve));
    const end = () => void client.end().catch(() => undefined);
    client.on('error', (error) => {
      log.warn({ err: error }, 'live updates: connection lost');
      end();
    });
    client.on('notification', ({ channel, payload }) => onMessage(channel, payload ?? ''));
    try {
      await client.connect();
      await origin.check(client);
      await client.query(channels.map((channel) => `listen ${client.escapeIdentifier(channel)}`).join(';'));
      await client.query(NOTIFY.text, [greeting.channel, [greeting.message]]);
    } catch (error) {
      end();
      throw error;
    }
    const pinging = new AbortController();
    void ping(client, pingMs, pinging.signal).catch(end);
    return { lost: lost.finally(() => pinging.abort()) };
  }
}

/** Until it is stopped; throws when there is no answer, for which the client waits so long and no longer. */
async function ping(client: pg.Client, everyMs: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(everyMs, undefined, { signal });
    await client.query('select 1');
  }
}
