import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { ROOT } from '../../process/root.ts';
import type { Address } from '../connection/address.ts';
import { limitLockWaits, openWatcher, untilLocked } from './lock-waits.ts';

/**
 * Applies the migrations of `prisma/migrations`, and records them in `_prisma_migrations` as Prisma does, so that
 * `prisma migrate` sees the same history. Prisma's own engine is not used: it is a program that would have to be
 * downloaded, and it cuts scripts at semicolons within function bodies.
 */

export interface MigrationLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.Client, 'query'>;

const FOLDER = fileURLToPath(new URL('prisma/migrations', ROOT));
/** Key of the advisory lock that `prisma migrate` takes. */
const PRISMA_LOCK = 72707369;

/** The statement of Prisma's engine, so that both create the same table. */
const CREATE_HISTORY = `
  create table _prisma_migrations (
    id                  varchar(36) primary key not null,
    checksum            varchar(64) not null,
    finished_at         timestamptz,
    migration_name      varchar(255) not null,
    logs                text,
    rolled_back_at      timestamptz,
    started_at          timestamptz not null default now(),
    applied_steps_count integer not null default 0
  )`;

/** Tables and views of the schema, without those of extensions. */
const HAS_TABLES = `
  select exists (
    select from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
       and not exists (select from pg_depend d
                        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
  ) as present`;

let ownNames: readonly string[] | null = null;

/** Names of the migrations of this version, in order. Read once: every readiness check needs them. */
export function ownMigrations(): readonly string[] {
  ownNames ??= namesIn(FOLDER);
  return ownNames;
}

/** Names of the indexes that the migrations of this version create and keep. */
export const ownIndexes = () => kept(/\b(create (?:unique )?|drop )index (?:if (?:not )?exists )?(\w+)/gi);

/** Names of the tables and sequences, as above. */
export const ownTables = () => kept(/\b(create (?:unlogged )?|drop )table (?:if exists )?(\w+)/gi);
export const ownSequences = () => kept(/\b(create |drop )sequence (?:if exists )?(\w+)/gi);

/** @param statement finds the verb and the name */
function kept(statement: RegExp): string[] {
  const names = new Set<string>();
  for (const migration of ownMigrations()) {
    const sql = readFileSync(join(FOLDER, migration, 'migration.sql'), 'utf8').replace(/--.*$/gm, '');
    for (const [, verb, name = ''] of sql.matchAll(statement)) {
      if (/^drop/i.test(verb ?? '')) names.delete(name);
      else names.add(name);
    }
  }
  return [...names];
}

function namesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/** Names of the migrations that the database has. */
export async function finishedMigrations(database: Queryable): Promise<Set<string>> {
  if (!(await hasHistory(database))) return new Set();
  const { rows } = await database.query<{ migration_name: string }>(
    'select migration_name from _prisma_migrations where finished_at is not null and rolled_back_at is null',
  );
  return new Set(rows.map((row) => row.migration_name));
}

/** Whether any migration was ever applied or tried. */
export async function hasHistory(database: Queryable): Promise<boolean> {
  const text = `select to_regclass('_prisma_migrations') is not null as present`;
  return (await database.query<{ present: boolean }>(text)).rows[0]?.present === true;
}

interface ApplyOptions {
  /** Address of the client's database. */
  url: Address;
  log: MigrationLog;
  /** `prisma/migrations`, or a copy of it. */
  folder?: string;
  /** Runs in the transaction of each migration, after it. */
  inEach?: () => Promise<void>;
}

/**
 * Applies what the database does not have, each migration in one transaction with its record. While another session has
 * a lock that a migration needs, it is tried again and again. The caller holds the lock of migrations.
 * @returns the names of those that were applied
 * @throws Error when one fails; nothing of that one is kept
 */
export async function applyMigrations(
  client: pg.Client,
  { url, log, folder = FOLDER, inEach }: ApplyOptions,
): Promise<string[]> {
  const finished = await finishedMigrations(client);
  const missing = namesIn(folder).filter((name) => !finished.has(name));
  if (missing.length === 0) return [];
  await client.query(`select pg_advisory_lock(${PRISMA_LOCK})`);
  const watcher = await openWatcher(url);
  try {
    if (!(await hasHistory(client))) await beginHistory(client, missing[0]);
    await giveUpInterrupted(client, missing, log);
    for (const name of missing) {
      const apply = () => applyMigration(client, name, join(folder, name, 'migration.sql'), inEach);
      const startedAt = new Date();
      await untilLocked(client, { watcher, log, migration: name }, apply).catch(async (error: unknown) => {
        const failure = failureOf(name, error);
        // `migrate --status` shows it to an operator who does not have this log.
        // Without the record, only that is missing.
        const checksum = checksumOf(readFileSync(join(folder, name, 'migration.sql'), 'utf8'));
        await recordFailure(client, { name, checksum, startedAt, reason: failure.message }).catch(() => undefined);
        throw failure;
      });
    }
    return missing;
  } finally {
    await client.query(`select pg_advisory_unlock(${PRISMA_LOCK})`).catch(() => undefined);
    await watcher?.end().catch(() => undefined);
  }
}

async function beginHistory(client: pg.Client, first: string | undefined): Promise<void> {
  const { rows } = await client.query<{ present: boolean }>(HAS_TABLES);
  if (rows[0]?.present === true) {
    const reason = 'the database has tables of something else, and Jobferry needs one of its own';
    throw new Error(`migration ${first} failed, nothing of it was kept: ${reason}`);
  }
  await client.query(CREATE_HISTORY).catch((error: unknown) => {
    throw failureOf(first, error);
  });
}

/**
 * `prisma migrate` records the start of a migration on its own, so a process that was killed may have left a record
 * without an end. Each migration is one transaction (a test verifies that), so nothing else of it is left.
 */
async function giveUpInterrupted(client: pg.Client, names: readonly string[], log: MigrationLog): Promise<void> {
  const { rows } = await client.query<{ migration_name: string }>(
    `update _prisma_migrations set rolled_back_at = now()
      where finished_at is null and rolled_back_at is null and migration_name = any ($1)
     returning migration_name`,
    [names],
  );
  for (const { migration_name: migration } of rows) {
    log.info({ migration }, 'a migration was interrupted before, running it again');
  }
}

async function applyMigration(
  client: pg.Client,
  name: string,
  file: string,
  afterwards?: () => Promise<void>,
): Promise<void> {
  const script = readFileSync(file, 'utf8');
  const id = randomUUID();
  await inTransaction(client, async () => {
    await limitLockWaits(client);
    await client.query(
      `insert into _prisma_migrations (id, checksum, migration_name, started_at)
       values ($1, $2, $3, clock_timestamp())`,
      [id, checksumOf(script), name],
    );
    await client.query(script);
    await afterwards?.();
    await client.query(
      'update _prisma_migrations set finished_at = clock_timestamp(), applied_steps_count = 1 where id = $1',
      [id],
    );
  });
}

function checksumOf(script: string): string {
  return createHash('sha256').update(script).digest('hex');
}

/** Replaces the record of the last failure: a supervisor may start a process that fails very often. */
async function recordFailure(
  client: pg.Client,
  { name, checksum, startedAt, reason }: { name: string; checksum: string; startedAt: Date; reason: string },
): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(
      `delete from _prisma_migrations
        where migration_name = $1 and finished_at is null and rolled_back_at is not null and logs is not null`,
      [name],
    );
    await client.query(
      `insert into _prisma_migrations (id, checksum, migration_name, logs, rolled_back_at, started_at)
       values ($1, $2, $3, $4, clock_timestamp(), $5)`,
      [randomUUID(), checksum, name, reason, startedAt],
    );
  });
}

/** Runs the work in one transaction of the client. */
export async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

function failureOf(name: string | undefined, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const wayOut =
    reason.startsWith('permission denied for schema') || reason.startsWith('permission denied for database')
      ? ': the role must own the database. As a superuser: alter database D owner to R'
      : '';
  return new Error(`migration ${name} failed, nothing of it was kept: ${reason}${wayOut}`, { cause });
}
