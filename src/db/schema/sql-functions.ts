import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { ROOT } from '../../process/root.ts';
import { inTransaction, type Queryable } from './migrations.ts';

/** The SQL functions are files that a start applies when they differ from what the database has (decision 0024). */

/** All files of `prisma/functions`. */
export interface FunctionSet {
  /**
   * Last line of `prisma/functions/versions`. Grows with each change, so that an older build knows a newer database.
   */
  version: number;
  /** Over the names and texts of all files. */
  hash: string;
  /** In the order of their names. */
  files: readonly { name: string; text: string }[];
}

/** The version of the functions in the database, from its table `schema_functions`. */
export interface StoredFunctions {
  version: number;
  hash: string;
}

const FOLDER = fileURLToPath(new URL('prisma/functions', ROOT));

/** @param folder `prisma/functions`, or a copy of it */
export function readFunctions(folder: string): FunctionSet {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  // A checkout on Windows may have other line ends.
  const read = (name: string) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n');
  const files = names.sort().map((name) => ({ name, text: read(name) }));
  const hash = createHash('sha256');
  for (const { name, text } of files) hash.update(`${name}\0${text}\0`);
  const lastLine = read('versions').trimEnd().split('\n').at(-1) ?? '';
  const version = Number(/^(\d+) [0-9a-f]+$/.exec(lastLine)?.[1]);
  if (!(version > 0)) throw new Error(`${join(folder, 'versions')}: the last line is not "number hash"`);
  return { version, hash: hash.digest('hex'), files };
}

let own: FunctionSet | null = null;

/** The functions of this build. Read once: every readiness check needs them. */
export function ownFunctions(): FunctionSet {
  own ??= readFunctions(FOLDER);
  return own;
}

/** The database has a schema that no release can use or migrate. */
export class UnusableSchema extends Error {
  override readonly name = 'UnusableSchema';
}

/** Null before the first start has applied any. The first migration has to be there. */
export async function storedFunctions(database: Queryable): Promise<StoredFunctions | null> {
  const text = 'select version, hash from schema_functions order by version desc limit 1';
  const { rows } = await database.query<StoredFunctions>(text);
  return rows[0] ?? null;
}

/**
 * Replaces the functions of the database by these: all of them, or after an error none. Running processes use them from
 * their next statement on. The caller holds the lock of migrations, since two replacements at once would fail.
 * @param afterwards runs in the same transaction
 */
export async function applyFunctions(
  client: pg.Client,
  { version, hash, files }: FunctionSet,
  afterwards?: () => Promise<void>,
): Promise<void> {
  let current = 'versions';
  await inTransaction(client, async () => {
    // A file may call functions of files that come after it.
    await client.query('set local check_function_bodies = off');
    for (const { name, text } of files) {
      current = name;
      await client.query(text);
    }
    await client.query(
      `insert into schema_functions (version, hash) values ($1, $2)
       on conflict (version) do update set hash = excluded.hash, applied_at = excluded.applied_at`,
      [version, hash],
    );
    await afterwards?.();
  }).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`SQL functions ${version} failed in ${current}, the database keeps those that it had: ${reason}`, {
      cause,
    });
  });
}
