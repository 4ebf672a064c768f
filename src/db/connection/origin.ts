import type pg from 'pg';

/** The part of a logger that this needs. */
interface OriginLog {
  warn(fields: object, message: string): void;
  error?(fields: object, message: string): void;
}

/** Which history of the data a server has. */
export interface Origin {
  /** Given by initdb, and the same for all physical copies. */
  system: string;
  /** Counted up when a copy takes over. */
  timeline: number;
}

type Checked = Pick<pg.Client, 'query' | 'once' | 'connection'>;

interface OriginRow {
  system: string;
  timeline: number;
}

// On a primary from the log that it writes: the control file is behind until the checkpoint that follows a promotion.
const ASK = `
  select (select system_identifier::text from pg_control_system()) as system,
         case when pg_is_in_recovery() then (select timeline_id from pg_control_checkpoint())
              else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline`;

/**
 * Notices when the same address leads to another or an older database: a leader that was replaced and took itself
 * back, say. What was accepted since it was replaced is missing there, and what it would accept now would be lost
 * next. So each new connection, of a pool or alone, is asked where its server stands, and one that is behind the highest
 * that this process has seen is refused, or closed when that is seen later. The memory is the process's: after a restart
 * the server that is there counts.
 */
export class OriginGuard {
  readonly #log: OriginLog;
  #highest: Origin | null = null;
  #refusal: string | null = null;
  #isBlind = false;
  /** Connections that are open, and the timelines that their servers had. */
  readonly #open = new Map<Checked, number>();

  constructor(log: OriginLog) {
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
   * Closes the connection later when its server turns out to be one of the past.
   * @throws Error when the server must not be used
   */
  async check(client: Checked): Promise<void> {
    const origin = await this.#originOf(client);
    if (origin === null) return;
    const problem = this.#highest === null ? null : stepBack(this.#highest, origin);
    if (problem !== null) {
      this.#refuse(problem, origin);
      throw new Error(problem);
    }
    if (this.#refusal !== null) this.#log.warn({ ...origin }, 'the database is again the one that it was');
    this.#refusal = null;
    this.#highest = origin;
    this.#open.set(client, origin.timeline);
    client.once('end', () => this.#open.delete(client));
    this.#closePast(origin.timeline);
  }

  /** What such a server still has to answer, nobody can rely on. */
  #closePast(present: number): void {
    for (const [client, timeline] of this.#open) {
      if (timeline >= present) continue;
      this.#open.delete(client);
      client.connection.stream.destroy(new Error('another server has taken over from the one that was connected'));
    }
  }

  #refuse(problem: string, origin: Origin): void {
    if (this.#refusal === problem) return;
    this.#refusal = problem;
    const fields = { highest: this.#highest, found: origin };
    const message = `${problem}: jobs that were accepted may be missing there, so it is not used; to use it, restart this process`;
    if (this.#log.error === undefined) this.#log.warn(fields, message);
    else this.#log.error(fields, message);
  }

  async #originOf(client: Checked): Promise<Origin | null> {
    if (this.#isBlind) return null;
    try {
      const { rows } = await client.query<OriginRow>(ASK);
      return rows[0] ?? null;
    } catch (error) {
      if (!CANNOT_SAY.has((error as { code?: string }).code ?? '')) throw error;
      this.#isBlind = true;
      this.#log.warn({ err: error }, 'this server does not tell its timeline: a step back in time would go unnoticed');
      return null;
    }
  }
}

/** insufficient_privilege, undefined_function, feature_not_supported */
const CANNOT_SAY = new Set(['42501', '42883', '0A000']);

/** What is wrong with a server after another was seen; null when nothing is. */
export function stepBack(seen: Origin, found: Origin): string | null {
  if (seen.system !== found.system) {
    return `the database is another one (system identifier ${found.system}, before ${seen.system})`;
  }
  if (found.timeline >= seen.timeline) return null;
  return `the database went back from timeline ${seen.timeline} to ${found.timeline}`;
}
