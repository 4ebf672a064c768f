import { counts } from '../../telemetry/counts/counts.ts';
import type { DatabaseLog } from './database-log.ts';

/** disk_full */
export const DISK_FULL = '53100';

/** Time after the last refusal for which the disk counts as full. Background work writes more often than that. */
const REMEMBERED_MS = 30_000;
/** Every write is refused, so the log says it only so often. */
const LOGGED_EVERY_MS = 60_000;

/**
 * Remembers that the database refuses writes because its disk is full. Such a server answers everything else, so
 * nothing but the refusals shows it. A write that only tries would need room itself, and PostgreSQL cannot be asked how
 * much is free.
 */
export class FullDisk {
  readonly #log: DatabaseLog;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(log: DatabaseLog) {
    this.#log = log;
  }

  /** Notes a refused statement, whatever the reason of the refusal. */
  note(sqlState: string | null, error: unknown): void {
    if (sqlState !== DISK_FULL) return;
    counts.diskFull += 1;
    const now = performance.now();
    this.#refusedAt = now;
    if (now - this.#loggedAt < LOGGED_EVERY_MS) return;
    this.#loggedAt = now;
    const detail = error instanceof Error ? error.message : String(error);
    this.#log.error?.({ sqlState, detail }, 'the database takes no writes: its disk is full');
  }

  /** A statement that adds rows has succeeded. An update says nothing, because it may fit into a page that is there. */
  wrote(): void {
    if (this.#refusedAt === Number.NEGATIVE_INFINITY) return;
    this.#refusedAt = Number.NEGATIVE_INFINITY;
    // The next time is logged at once.
    this.#loggedAt = Number.NEGATIVE_INFINITY;
    this.#log.warn({}, 'a write to the database has succeeded again');
  }

  /** Whether a write was refused lately, and none has succeeded since. */
  get isFull(): boolean {
    return performance.now() - this.#refusedAt < REMEMBERED_MS;
  }
}
