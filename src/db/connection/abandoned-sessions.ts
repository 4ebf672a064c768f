import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { DatabaseLog } from './connections.ts';

interface Abandoned {
  pid: number;
  connectedAt: number;
  abandonedAt: number;
}

const CONNECT_TIMEOUT_MS = 2000;
const LOOK_EVERY_MS = 250;
/** After this time a session counts no more, whatever the server has said about it. */
const FORGET_AFTER_MS = 60_000;
/** Nothing of what the sessions were part of is there any more. */
const SERVER_GONE = new Set(['ECONNREFUSED', 'ENOENT', '57P03']);

/**
 * The session of a statement that was given up lives on in the server, for as long as a commit waits for a disk or a
 * standby. Were its connection replaced at once, a server that stalls would get more and more of them. So it goes on
 * counting, is ended from outside, and makes room when the server says that it is gone.
 */
const END: string = `
  select a.pid, pg_terminate_backend(a.pid)
    from pg_stat_activity a join unnest($1::int[], $2::float8[]) as ours (pid, age) on a.pid = ours.pid
   where a.usename = current_user
         -- The number may be another session's by now: of a server that was started again, or of this one.
     and a.backend_start between clock_timestamp() - (ours.age + ${CONNECT_TIMEOUT_MS * 2}) * interval '1 ms'
                             and clock_timestamp() - (ours.age - 1000) * interval '1 ms'`;

/** Takes what was given up from a pool's room, and gives it back later. */
export class AbandonedSessions {
  readonly #pool: pg.Pool;
  readonly #url: string;
  readonly #log: DatabaseLog;
  readonly #connectedAt = new WeakMap<object, number>();
  #sessions: Abandoned[] = [];
  #looking = false;
  #stopped = false;

  constructor(pool: pg.Pool, url: string, log: DatabaseLog) {
    this.#pool = pool;
    this.#url = url;
    this.#log = log;
    pool.on('connect', (client) => this.#connectedAt.set(client, performance.now()));
    pool.on('release', (error: unknown, client) => {
      // Prisma and graphile-worker give back a connection whose statement they have given up as if it were fine.
      const isHung = (client as { _activeQuery?: unknown })._activeQuery != null;
      if (error || isHung) this.#add(error, client);
      if (!error && isHung) void (client as unknown as pg.Client).end().catch(() => undefined);
    });
    pool.on('error', (error, client) => this.#add(error, client));
  }

  stop(): void {
    this.#stopped = true;
  }

  #add(error: unknown, client: object): void {
    const pid = (client as { processID?: number | null }).processID;
    const connectedAt = this.#connectedAt.get(client);
    // What the server ends, it ends by itself.
    if (this.#stopped || error instanceof pg.DatabaseError || pid == null || connectedAt === undefined) return;
    this.#connectedAt.delete(client);
    this.#sessions.push({ pid, connectedAt, abandonedAt: performance.now() });
    this.#pool.options.max -= 1;
    if (!this.#looking) void this.#lookUntilGone();
  }

  async #lookUntilGone(): Promise<void> {
    this.#looking = true;
    while (this.#sessions.length > 0 && !this.#stopped) {
      const asked = [...this.#sessions];
      const left = await this.#endAll(asked).catch((error: unknown) => {
        if (SERVER_GONE.has(String((error as NodeJS.ErrnoException).code))) return new Set<number>();
        this.#log.warn(
          { err: error, sessions: asked.length },
          'database sessions that were given up cannot be looked at',
        );
        return null;
      });
      const now = performance.now();
      this.#keep((session) => {
        if (now - session.abandonedAt > FORGET_AFTER_MS) return false;
        return left === null || !asked.includes(session) || left.has(session.pid);
      });
      if (this.#sessions.length > 0) await pause(LOOK_EVERY_MS, undefined, { ref: false });
    }
    this.#looking = false;
  }

  #keep(isKept: (session: Abandoned) => boolean): void {
    const kept = this.#sessions.filter(isKept);
    const room = this.#sessions.length - kept.length;
    this.#sessions = kept;
    this.#pool.options.max += room;
    // A pool looks for room only when something is asked of it.
    for (let n = Math.min(room, this.#pool.waitingCount); n > 0; n -= 1) {
      this.#pool.connect().then(
        (client) => client.release(),
        () => undefined,
      );
    }
  }

  /** @returns numbers of those that were still there */
  async #endAll(sessions: readonly Abandoned[]): Promise<Set<number>> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      application_name: 'jobferry',
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const now = performance.now();
      const values = [sessions.map(({ pid }) => pid), sessions.map(({ connectedAt }) => now - connectedAt)];
      const { rows } = await client.query<{ pid: number }>(END, values);
      return new Set(rows.map(({ pid }) => pid));
    } finally {
      // Never waited for: a server that stalls would not answer this either.
      void client.end().catch(() => undefined);
    }
  }
}
