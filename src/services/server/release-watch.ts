import type { Database, DatabaseLog } from '../../db/connection/database.ts';
import { type SchemaReport, schemaReport } from '../../db/schema/migrate.ts';
import { OWN_RELEASE, presentRelease } from '../../db/schema/release.ts';
import { movedAway, type Release, tooOld } from '../../domain/release.ts';

const MOVED = '`backup --final` has moved the database to another place: this process claims nothing more; stop it';

interface ReleaseWatchOptions {
  db: Database;
  log: DatabaseLog & { info(fields: object, message: string): void };
  /** Whether a later release had migrated the database before the start. */
  startsBeside: boolean;
}

/**
 * Knows whether a later release has migrated the database since the start of this process, or `backup --final` has
 * moved it, and whether this process may still run on it. A process that may not any more never works again: a mark is
 * not taken back.
 */
export class ReleaseWatch {
  readonly #db: Database;
  readonly #log: ReleaseWatchOptions['log'];
  #knowsAll: boolean;
  #refusal: string | null = null;
  /** The last release that `look` has found. */
  #seen: Release | null = null;
  readonly #stops: (() => unknown)[] = [];

  constructor({ db, log, startsBeside }: ReleaseWatchOptions) {
    this.#db = db;
    this.#log = log;
    this.#knowsAll = !startsBeside;
  }

  /** Whether this process knows all tables, which what removes rows with all that depends on them has to. */
  get knowsAll(): boolean {
    return this.#knowsAll;
  }

  /** Why this process may not work on the database any more; null while it may. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** Calls `stop` once when this process may not work any more, at once if that is so already. */
  onRefused(stop: () => unknown): void {
    this.#stops.push(stop);
    if (this.#refusal !== null) this.#stop();
  }

  /**
   * Reads whether the database was moved, and compares the schema if the release of the database is another one than at
   * the last look. @throws the error of the query
   */
  async look(): Promise<void> {
    const found = await presentRelease(this.#db);
    const movedAt = found?.movedAt ?? null;
    if (movedAt !== null) this.#refuse(movedAway(movedAt), { movedAt }, MOVED);
    const seen = this.#seen;
    if (found?.version === seen?.version && found?.oldestBeside === seen?.oldestBeside) return;
    await this.check();
    this.#seen = found;
  }

  /** Compares the schema of the database with that of this process. @throws the error of the query */
  async check(): Promise<SchemaReport> {
    const report = await schemaReport(this.#db.pool);
    const { standing, release, later } = report;
    const version = OWN_RELEASE.version;
    if (later.length > 0 && this.#knowsAll) {
      this.#knowsAll = false;
      this.#log.info(
        { version, release: release?.version ?? null },
        'a later release has migrated the database: this process goes on, and leaves the retention sweep to that release',
      );
    }
    if (standing === 'too_old' && release !== null) {
      const facts = { version, release: release.version, oldestBeside: release.oldestBeside };
      const what = 'the database is of a release that this process may not run beside';
      this.#refuse(tooOld(version, release), facts, `${what}: it claims nothing more; upgrade it`);
    }
    return report;
  }

  #refuse(refusal: string, facts: object, message: string): void {
    if (this.#refusal !== null) return;
    this.#refusal = refusal;
    this.#log.warn(facts, message);
    this.#stop();
  }

  #stop(): void {
    const failed = (err: unknown) => this.#log.warn({ err }, 'a part of the process could not be stopped');
    for (const stop of this.#stops.splice(0)) Promise.resolve(stop()).catch(failed);
  }
}
