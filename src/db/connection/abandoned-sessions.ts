import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Address, createClient } from './address.ts';
import type { DatabaseLog } from './database-log.ts';

interface Abandoned {
  pid: number;
  connectedAt: number;
  abandonedAt: number;
  /** Until then the server is expected to end it by itself. */
  terminateAt: number;
}

const CONNECT_TIMEOUT_MS = 2000;
const POLL_EVERY_MS = 250;
/** Time in which a server that can be reached has ended the session of a connection that was closed. */
const GOODBYE_MS = 1000;
/** After this time a session is not counted any more, even if the server still reports it. */
const FORGET_AFTER_MS = 60_000;
/** Errors that show that the server has ended, and the sessions with it. */
const SERVER_GONE = new Set(['ECONNREFUSED', 'ENOENT', '57P03']);

/**
 * When the client gives up a statement, its session stays in the server for as long as a commit waits for a disk or a
 * standby. If its connection was replaced at once, a stalled server would get more and more sessions. So the session
 * still counts towards the pool's limit, is terminated over another connection, and is replaced when the server reports
 * that it has ended. The same holds for a connection that was closed because it was idle, if the network has lost it.
 */
const END: string = `
  select a.pid, pg_terminate_backend(a.pid)
    from pg_stat_activity a join unnest($1::int[], $2::float8[]) as ours (pid, age) on a.pid = ours.pid
   where a.usename = current_user
         -- The pid may belong to another session now, of this server or of a server that was restarted.
     and a.backend_start between clock_timestamp() - (ours.age + ${CONNECT_TIMEOUT_MS * 2}) * interval '1 ms'
                             and clock_timestamp() - (ours.age - 1000) * interval '1 ms'`;

/** Reduces the size of a pool by its abandoned sessions, until the server has ended them. */
export class AbandonedSessions {
  readonly #pool: pg.Pool;
  readonly #address: Address;
  readonly #log: DatabaseLog;
  readonly #connectedAt = new WeakMap<object, number>();
  #sessions: Abandoned[] = [];
  #isPolling = false;
  #stopped = false;

  constructor(pool: pg.Pool, address: Address, log: DatabaseLog) {
    this.#pool = pool;
    this.#address = address;
    this.#log = log;
    pool.on('release', (error: unknown, client) => {
      // Prisma and graphile-worker release a connection without an error even if they have given up its statement.
      const isHung = (client as { _activeQuery?: unknown })._activeQuery != null;
      if (error || isHung) this.add(error, client);
      if (!error && isHung) void (client as unknown as pg.Client).end().catch(() => undefined);
    });
    pool.on('error', (error, client) => this.add(error, client));
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Takes note of a new connection, before its first statement. */
  opened(given: pg.ClientBase): void {
    const client = given as pg.Client;
    this.#connectedAt.set(client, performance.now());
    let hasEnded = false;
    let closing: Abandoned | null = null;
    client.once('end', () => {
      hasEnded = true;
      if (closing !== null) this.#keep((other) => other !== closing);
    });
    const end = client.end.bind(client) as (callback?: (error: Error) => void) => Promise<void>;
    // The pool closes idle connections without an event.
    client.end = (callback?: (error: Error) => void) => {
      if (!hasEnded) closing ??= this.#count(client, GOODBYE_MS);
      return end(callback);
    };
  }

  /** Counts the session of a connection that is closed, unless the server has ended it. */
  add(error: unknown, client: object): void {
    // After a DatabaseError the session has ended, or the server ends it.
    if (!(error instanceof pg.DatabaseError)) this.#count(client, 0);
  }

  /** @returns null if it is counted already, or has no session */
  #count(client: object, graceMs: number): Abandoned | null {
    const pid = (client as { processID?: number | null }).processID;
    const connectedAt = this.#connectedAt.get(client);
    if (this.#stopped || pid == null || connectedAt === undefined) return null;
    this.#connectedAt.delete(client);
    const now = performance.now();
    const session = { pid, connectedAt, abandonedAt: now, terminateAt: now + graceMs };
    this.#sessions.push(session);
    this.#pool.options.max -= 1;
    if (!this.#isPolling) void this.#pollUntilGone();
    return session;
  }

  async #pollUntilGone(): Promise<void> {
    this.#isPolling = true;
    while (this.#sessions.length > 0 && !this.#stopped) {
      const polled = this.#sessions.filter(({ terminateAt }) => terminateAt <= performance.now());
      const left = await this.#endAll(polled).catch((error: unknown) => {
        if (SERVER_GONE.has(String((error as NodeJS.ErrnoException).code))) return new Set<number>();
        this.#log.warn(
          { err: error, sessions: polled.length },
          'abandoned database sessions could not be terminated; this will be retried',
        );
        return null;
      });
      const now = performance.now();
      this.#keep((session) => {
        if (now - session.abandonedAt > FORGET_AFTER_MS) return false;
        return left === null || !polled.includes(session) || left.has(session.pid);
      });
      if (this.#sessions.length > 0) await pause(POLL_EVERY_MS, undefined, { ref: false });
    }
    this.#isPolling = false;
  }

  #keep(isKept: (session: Abandoned) => boolean): void {
    const kept = this.#sessions.filter(isKept);
    const room = this.#sessions.length - kept.length;
    this.#sessions = kept;
    this.#pool.options.max += room;
    // A pool uses new room only when `connect` is called.
    for (let n = Math.min(room, this.#pool.waitingCount); n > 0; n -= 1) {
      this.#pool.connect().then(
        (client) => client.release(),
        () => undefined,
      );
    }
  }

  /** @returns pids of the sessions that still existed */
  async #endAll(sessions: readonly Abandoned[]): Promise<Set<number>> {
    if (sessions.length === 0) return new Set();
    const client = createClient(this.#address, {
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      application_name: 'jobferry',
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      this.opened(client);
      const now = performance.now();
      const values = [sessions.map(({ pid }) => pid), sessions.map(({ connectedAt }) => now - connectedAt)];
      const { rows } = await client.query<{ pid: number }>(END, values);
      return new Set(rows.map(({ pid }) => pid));
    } catch (error) {
      // In a stalled server this session hangs as the others do.
      this.add(error, client);
      throw error;
    } finally {
      // Not awaited: a stalled server would not reply to this either.
      void client.end().catch(() => undefined);
    }
  }
}
