import type pg from 'pg';
import type { DatabaseLog } from './database-log.ts';

/** Identifies the history of a server's data. */
export interface Origin {
  /** System identifier, set by initdb; the same for all physical copies. */
  system: string;
  /** Timeline number, incremented when a copy is promoted. */
  timeline: number;
}

type Checked = Pick<pg.Client, 'query' | 'once' | 'connection'>;

interface OriginRow {
  system: string;
  /** Null on a standby. */
  timeline: number | null;
}

// The timeline is read from the present WAL position: after a promotion the control file is behind until the next
// checkpoint. A standby has no such position.
const ORIGIN = `
  select (select system_identifier::text from pg_control_system()) as system,
         case when not pg_is_in_recovery()
              then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline`;

/** Connecting takes 3 s at most, and callers must receive "unavailable" within 5 s (I-37). */
const ORIGIN_MS = 1500;

/** A connection to a standby survives its promotion, so the guard would not see the new timeline. */
const STANDBY = 'the server is a standby, which cannot be written to';

/**
 * Detects that the same address leads to another or an older database, for example to a former primary that has come
 * back after a failover. Jobs that were accepted since the failover are missing there, and jobs that it accepts would
 * be lost. So the guard reads the timeline of each new connection, of the pools and of single clients. It refuses a
 * connection that is behind the highest timeline that this process has seen, and closes it if a higher timeline is seen
 * later. The highest timeline is kept in memory only: after a restart, the first server that is reached counts. A
 * standby is refused until it has been promoted.
 */
export class OriginGuard {
  readonly #log: DatabaseLog;
  #highest: Origin | null = null;
  /** When it was first seen. */
  #highestSince = new Date();
  #refusal: string | null = null;
  #isBlind = false;
  /** Open connections, with the timelines of their servers. */
  readonly #open = new Map<Checked, number>();

  constructor(log: DatabaseLog) {
    this.#log = log;
  }

  /** Why the last connection was refused; null when it was not. */
  get refusal(): string | null {
    return this.#refusal;
  }

  get highest(): Origin | null {
    return this.#highest;
  }

  /**
   * Checks a new connection. Also closes it later if a higher timeline is seen.
   * @throws Error when the server must not be used
   */
  async check(client: Checked): Promise<void> {
    const row = await this.#originOf(client);
    if (row === null) return;
    const { system, timeline } = row;
    if (timeline === null) {
      this.#refuse(STANDBY, `${STANDBY}: it is not used until it has been promoted`, row);
      throw new Error(STANDBY);
    }
    const origin = { system, timeline };
    const problem = this.#highest === null ? null : stepBack(this.#highest, origin);
    if (problem !== null) {
      const since = this.#highestSince.toISOString();
      const message = `${problem}: jobs that were accepted since ${since} may be missing there, so it is not used; to use it, restart this process`;
      this.#refuse(problem, message, origin);
      throw new Error(problem);
    }
    if (this.#refusal !== null) this.#log.warn({ ...origin }, 'the database is again the expected one');
    this.#refusal = null;
    this.#rise(origin);
    this.#open.set(client, origin.timeline);
    client.once('end', () => this.#open.delete(client));
    this.#closePast(origin.timeline);
  }

  /** Takes note of a primary that was found another way, and closes connections to servers with older timelines. */
  advance(origin: Origin): void {
    if (this.#highest === null || stepBack(this.#highest, origin) !== null) return;
    this.#rise(origin);
    this.#closePast(origin.timeline);
  }

  #rise(origin: Origin): void {
    if (this.#highest?.timeline !== origin.timeline) this.#highestSince = new Date();
    this.#highest = origin;
  }

  /** Closes connections to servers with older timelines, because their replies cannot be relied on. */
  #closePast(present: number): void {
    for (const [client, timeline] of this.#open) {
      if (timeline >= present) continue;
      this.#open.delete(client);
      client.connection.stream.destroy(new Error('another server has taken over from the one that was connected'));
    }
  }

  #refuse(problem: string, message: string, found: OriginRow): void {
    if (this.#refusal === problem) return;
    this.#refusal = problem;
    const fields = { highest: this.#highest, found };
    if (this.#log.error === undefined) this.#log.warn(fields, message);
    else this.#log.error(fields, message);
  }

  async #originOf(client: Checked): Promise<OriginRow | null> {
    if (this.#isBlind) return null;
    return readOrigin(client, (error) => {
      this.#isBlind = true;
      this.#log.warn(
        { err: error },
        'this server does not report its timeline: a switch to older data would not be detected',
      );
    });
  }
}

/** @returns null if the server does not report it to this user; `onRefused` then gets its error */
export async function readOrigin(
  client: Pick<pg.Client, 'query'>,
  onRefused: (error: unknown) => void = () => undefined,
): Promise<OriginRow | null> {
  try {
    // `query_timeout` of one statement is missing in the driver's types.
    const { rows } = await client.query<OriginRow>({ text: ORIGIN, query_timeout: ORIGIN_MS } as pg.QueryConfig);
    return rows[0] ?? null;
  } catch (error) {
    if (!NOT_AVAILABLE.has((error as { code?: string }).code ?? '')) throw error;
    onRefused(error);
    return null;
  }
}

/** insufficient_privilege, undefined_function, feature_not_supported */
const NOT_AVAILABLE = new Set(['42501', '42883', '0A000']);

/** @returns why a server must not be used after `seen`; null when it may be used */
export function stepBack(seen: Origin, found: Origin): string | null {
  if (seen.system !== found.system) {
    return `the database is another one (system identifier ${found.system}, before ${seen.system})`;
  }
  if (found.timeline >= seen.timeline) return null;
  return `the database went back from timeline ${seen.timeline} to ${found.timeline}`;
}
