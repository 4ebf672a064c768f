import { lockHolders } from '../../db/operator/locks.ts';
import { blindRole } from '../../db/operator/snapshots.ts';
import { locksInWords } from '../../domain/doctor-locks.ts';
import { isUnavailable, unavailable } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { Config } from '../../process/config.ts';
import { type OpenDatabase, type OpenOptions, openDatabase } from '../../process/open-database.ts';
import { DATA_DIR as DEV_FOLDER } from '../dev/run.ts';
import { addressIn, hasCluster, OWN_FOLDER } from './api.ts';
import { CommandError, type Environment, type Settings, UsageError } from './command.ts';

/**
 * Opens the database for a command, and closes it afterwards.
 * @param migrates whether the command may change the schema of the database
 */
export async function withDatabase<T>(
  environment: Environment,
  work: (database: OpenDatabase, config: Config) => Promise<T>,
  { migrates = 'never' }: Partial<Pick<OpenOptions, 'migrates'>> = {},
): Promise<T> {
  const { config, log } = migrates === 'never' ? settingsHere(environment) : environment.settings();
  const database = await openDatabase(config, log, { guest: true, migrates }).catch(async (error: unknown) => {
    throw await withDev(error, environment);
  });
  try {
    return await work(database, config);
  } catch (error) {
    throw await withLocks(error, database);
  } finally {
    await database.close();
  }
}

/** The settings of a command that needs a database which is there: in a folder of `dev` alone, those of `dev`. */
export function settingsHere(environment: Environment): Settings {
  if (nameOfDatabase(environment).length > 0 || !isOfDevAlone()) return environment.settings();
  const { config, log } = environment.settingsOfDev();
  return { config: { ...config, dataDir: DEV_FOLDER }, log };
}

/** Whether this folder has data of `dev`, and none of `serve`. */
function isOfDevAlone(): boolean {
  return !hasCluster(OWN_FOLDER) && hasCluster(DEV_FOLDER);
}

/** The variables that name a database. An empty one counts as not set. */
function nameOfDatabase({ variables }: Environment): string[] {
  return ['DATABASE_URL', 'DATABASE_URL_FILE', 'DATA_DIR'].filter((name) => variables[name]);
}

/** The database may be that of the application whose developer runs `dev` here. */
async function withDev(error: unknown, environment: Environment): Promise<unknown> {
  const names = nameOfDatabase(environment);
  if (names.length === 0 || !isOfDevAlone() || (await addressIn(DEV_FOLDER)) === null) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CommandError(
    `${names[0]}: ${message}\nA \`jobferry dev\` runs in this folder: without ${names.join(' and ')} the command uses its database`,
    { cause: error },
  );
}

/** A statement that took too long may have waited for a lock: the message then names the session that has it. */
async function withLocks(error: unknown, { db }: OpenDatabase): Promise<unknown> {
  if (!isUnavailable(error)) return error;
  const holders = await lockHolders(db).catch(() => []);
  const hidden = await blindRole(db).catch(() => null);
  const names = locksInWords(holders, hidden).map((words) => `\n- ${words}`);
  return names.length === 0
    ? error
    : unavailable(`${error.message}. Perhaps because of${names.join('')}`, error.stored, error);
}

/** Returns a result of the database. @throws UsageError if there is none */
export function found<T>(row: T | null, what: string, id: string): T {
  if (row === null) throw new CommandError(`${what} ${id} does not exist`);
  return row;
}

/** @throws UsageError for a text that is no id, for which no query is needed */
export function idOf(text: string, what: string): string {
  if (!isId(text)) throw new UsageError(`${what} ${text} does not exist: an id has 24 hexadecimal digits`);
  return text;
}

export const MAX_ROWS = 1000;

export const ROWS = { value: 'N', help: `number of rows, up to ${MAX_ROWS}; 100 by default` } as const;

/** The options of a list, which is read in pages. */
export const PAGE = {
  limit: ROWS,
  after: { value: 'ID', help: 'continue after the row with this id' },
} as const;

export interface Page {
  limit: number;
  /** Null for the first page. */
  after: string | null;
}

export function pageOf({ limit, after }: { limit: string | undefined; after: string | undefined }): Page {
  const rows = limit === undefined ? 100 : Number(limit);
  if (!Number.isInteger(rows) || rows < 1 || rows > MAX_ROWS) {
    throw new UsageError(`--limit must be a whole number from 1 to ${MAX_ROWS}`);
  }
  return { limit: rows, after: after === undefined ? null : placeOf(after) };
}

function placeOf(after: string): string {
  if (!isId(after)) throw new UsageError('--after must be an id, such as that of the last row before');
  return after;
}

/** Returns the line below a page that may not be the last one. */
export function nextPage(rows: readonly { id: string }[], { limit }: Page): string {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? '' : `\n\nMore: --after ${last.id}`;
}
