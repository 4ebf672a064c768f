import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate, schemaReport } from '../../src/db/schema/migrate.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { openPrismaEngine } from '../support/prisma-engine.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const FOLDER = new URL('../../prisma/migrations/', import.meta.url);
async function migrationNames(): Promise<string[]> {
  const entries = await readdir(FOLDER, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

async function emptyDatabase() {
  const { url } = await createTestDatabase({ empty: true });
  return { url, client: await connect(url), own: (await migrationNames()).sort() };
}

describe('migrate', () => {
  it('brings an empty database to the present schema, once', async () => {
    const { url, client, own } = await emptyDatabase();
    expect((await schemaReport(client)).state).toBe('behind');
    expect(await migrate({ url, log: quiet })).toEqual({ applied: own });
    expect((await schemaReport(client)).state).toBe('current');
    expect(await migrate({ url, log: quiet })).toEqual({ applied: [] });
  });

  it('lets one of several processes do the work', async () => {
    const { url, client, own } = await emptyDatabase();
    let inside = 0;
    const afterMigrations = async () => {
      inside += 1;
      expect(inside).toBe(1);
      await client.query('select 1');
      inside -= 1;
    };
    const results = await Promise.all([1, 2, 3, 4].map(() => migrate({ url, log: quiet, afterMigrations })));
    expect(results.flatMap((result) => result.applied)).toEqual(own);
  });

  it('waits for another process for longer than the time limit of a statement that the database has', async () => {
    const { url, client, own } = await emptyDatabase();
    await client.query('select pg_advisory_lock($1)', [0x6a666d]);
    await client.query(`alter database ${new URL(url).pathname.slice(1)} set statement_timeout = 100`);
    let heard = (_message: string) => {};
    const waiting = new Promise<string>((resolve) => {
      heard = resolve;
    });
    const migrating = migrate({ url, log: { ...quiet, info: (_fields: object, message: string) => heard(message) } });
    expect(await waiting).toBe('waiting for another process that migrates the database');
    await client.query('select pg_sleep(0.3)');
    await client.query('select pg_advisory_unlock($1)', [0x6a666d]);
    expect(await migrating).toEqual({ applied: own });
  });

  it('refuses the database of a later version, and changes nothing', async () => {
    const { url, client } = await emptyDatabase();
    await migrate({ url, log: quiet });
    await client.query(
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
       values ('later', '', '29990101000000_later', now(), 1)`,
    );
    expect((await schemaReport(client)).state).toBe('newer');
    let asked = false;
    const afterMigrations = async () => {
      asked = true;
    };
    const attempt = migrate({ url, log: quiet, afterMigrations });
    await expect(attempt).rejects.toThrow(/later version of Jobferry \(29990101000000_later\)/);
    expect(asked).toBe(false);
  });

  it('names a migration that fails, with the reason of the database, and runs it again next time', async () => {
    const { url, client, own } = await emptyDatabase();
    await client.query('create function jobferry_now() returns integer language sql as $$ select 1 $$');
    const attempt = migrate({ url, log: quiet });
    await expect(attempt).rejects.toThrow(new RegExp(`migration ${own[0]} failed.*"jobferry_now" already exists`));
    expect((await schemaReport(client)).state).toBe('behind');
    const left = await client.query(`select from pg_tables where schemaname = 'public' and tablename = 'account'`);
    expect(left.rowCount).toBe(0);
    const [record] = (await client.query('select finished_at, rolled_back_at, logs from _prisma_migrations')).rows;
    expect(record).toMatchObject({ finished_at: null, rolled_back_at: expect.any(Date), logs: expect.any(String) });

    await client.query('drop function jobferry_now');
    expect(await migrate({ url, log: quiet })).toEqual({ applied: own });
    expect((await schemaReport(client)).state).toBe('current');
  });

  it('names the way out for a role that does not own the database', async () => {
    const { url, client } = await emptyDatabase();
    const role = `no_owner_${randomBytes(4).toString('hex')}`;
    await client.query(`create role ${role} login password 'secret'`);
    onTestFinished(async () => void (await client.query(`drop role ${role}`)));
    const limited = new URL(url);
    [limited.username, limited.password] = [role, 'secret'];
    await expect(migrate({ url: limited.href, log: quiet })).rejects.toThrow(
      /permission denied for schema public: the role must own the database\. As a superuser: alter database D owner to R$/,
    );
  });

  it('leaves tables and views of extensions out of account', async () => {
    const { url, client, own } = await emptyDatabase();
    await client.query('create view statistics as select 1 as calls');
    await expect(migrate({ url, log: quiet })).rejects.toThrow(/has tables of something else/);
    await client.query('alter extension plpgsql add view statistics');
    expect(await migrate({ url, log: quiet })).toEqual({ applied: own });
  });

  it('leaves the database of something else alone', async () => {
    const { url, client } = await emptyDatabase();
    await client.query('create table customer (id integer)');
    await expect(migrate({ url, log: quiet })).rejects.toThrow(/has tables of something else/);
    const tables = await client.query(`select from pg_tables where schemaname = 'public' and tablename = 'account'`);
    expect(tables.rowCount).toBe(0);
  });

  it('reports why it cannot reach the server', async () => {
    const url = 'postgresql://jobs@127.0.0.1:1/none';
    await expect(migrate({ url, log: quiet })).rejects.toThrow(/ECONNREFUSED/);
  });
});

/** The state of the same database by `prisma migrate` itself. */
describe("Prisma's own engine", () => {
  const columns = `select column_name, data_type, character_maximum_length, is_nullable, column_default
                     from information_schema.columns where table_name = '_prisma_migrations' order by ordinal_position`;
  const settled = { editedMigrationNames: [], failedMigrationNames: [], hasMigrationsTable: true, history: null };

  it('sees nothing to apply, nothing edited and nothing failed after ours', async () => {
    const { url, client } = await emptyDatabase();
    await migrate({ url, log: quiet });
    const prisma = await openPrismaEngine(url);
    expect(await prisma.diagnose()).toMatchObject(settled);
    expect(await prisma.deploy()).toEqual([]);
    await client.query(`update _prisma_migrations set checksum = repeat('0', 64)`);
    expect(await prisma.diagnose()).toMatchObject({ editedMigrationNames: await migrationNames() });
    await prisma.close();
  });

  it('leaves nothing to do for ours, and writes the same records', async () => {
    const ours = await emptyDatabase();
    await migrate({ url: ours.url, log: quiet });
    const theirs = await emptyDatabase();
    const prisma = await openPrismaEngine(theirs.url);
    expect(await prisma.deploy()).toEqual(theirs.own);
    await prisma.close();
    expect(await migrate({ url: theirs.url, log: quiet })).toEqual({ applied: [] });
    const records = `select checksum, migration_name, logs, rolled_back_at, applied_steps_count,
                            finished_at >= started_at as ended, id ~ '^[0-9a-f-]{36}$' as has_uuid
                       from _prisma_migrations order by migration_name`;
    for (const query of [columns, records]) {
      expect((await ours.client.query(query)).rows).toEqual((await theirs.client.query(query)).rows);
    }
  });

  // It records the start of a migration on its own, so a kill leaves a record without an end.
  it('may be interrupted: ours runs the migration again', async () => {
    const { url, client, own } = await emptyDatabase();
    await client.query('create function jobferry_now() returns integer language sql as $$ select 1 $$');
    const prisma = await openPrismaEngine(url);
    await expect(prisma.deploy()).rejects.toThrow();
    expect(await prisma.diagnose()).toMatchObject({ failedMigrationNames: [own[0]] });
    await client.query('drop function jobferry_now');

    const said: object[] = [];
    const log = { ...quiet, info: (fields: object) => said.push(fields) };
    expect(await migrate({ url, log })).toEqual({ applied: own });
    expect(said).toContainEqual({ migration: own[0] });
    expect(await prisma.diagnose()).toMatchObject(settled);
    await prisma.close();
  });
});

describe('migration files', () => {
  it('read no large table while all wait for it', async () => {
    const [, ...later] = (await migrationNames()).sort();
    for (const name of later) {
      const sql = await readFile(new URL(`${name}/migration.sql`, FOLDER), 'utf8');
      const large = /^alter table (?:job|attempt|dead_letter|audit_entry)\b[^;]*\badd constraint[^;]*/gim;
      for (const [statement] of sql.matchAll(large)) expect(statement, name).toMatch(/\bnot valid$/);
    }
  });

  it('are one transaction each, so that a failed one leaves nothing behind', async () => {
    for (const name of await migrationNames()) {
      const sql = await readFile(new URL(`${name}/migration.sql`, FOLDER), 'utf8');
      expect(sql, name).not.toMatch(
        /^\s*(begin|commit|rollback|start transaction)\s*;|\bconcurrently\b|^\s*vacuum\b/im,
      );
    }
  });
});
