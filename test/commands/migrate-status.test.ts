import { expect, it } from 'vitest';
import { connect, createTestDatabase } from '../support/database.ts';
import { openCommands } from '../support/operator.ts';

/** `migrate --status`: what a database has of the schema of this version. */

interface Status {
  state: string;
  version: string;
  database: { migration: string | null; functions: { version: number } | null };
  program: { migration: string; functions: { version: number } };
  migrations: { name: string; state: string; at: string | null; reason: string | null }[];
}

async function openDatabase(options: { empty: boolean }) {
  const { url } = await createTestDatabase(options);
  const { run } = openCommands(url);
  const status = async () => {
    const { json, text, isFailure } = await run('migrate', '--status');
    const read = JSON.parse(JSON.stringify(json)) as Status;
    return { ...read, text, isFailure, states: new Set(read.migrations.map(({ state }) => state)) };
  };
  return { client: await connect(url), run, status };
}

it('shows an empty database as pending, and changes nothing', async () => {
  const { client, status } = await openDatabase({ empty: true });
  const { state, isFailure, states, database } = await status();
  expect([state, isFailure, [...states]]).toEqual(['pending', true, ['pending']]);
  expect(database).toEqual({ migration: null, functions: null });
  expect((await client.query(`select from pg_class where relnamespace = 'public'::regnamespace`)).rowCount).toBe(0);
});

it('shows a migrated database as current, with the versions of both', async () => {
  const { run, status } = await openDatabase({ empty: true });
  await run('migrate');
  const { state, isFailure, states, database, program, migrations, text } = await status();
  expect([state, isFailure, [...states]]).toEqual(['current', false, ['applied']]);
  expect(database).toMatchObject(program);
  expect(migrations.every(({ at }) => at !== null)).toBe(true);
  expect(text).toContain(`database  ${program.migration}, functions ${program.functions.version}\n`);
  expect(text).toMatch(/^state +current/m);
});

it('shows what is missing, what failed with the reason, and the schema of a later version', async () => {
  const { client, run, status } = await openDatabase({ empty: true });
  await run('migrate');
  const { program, migrations } = await status();
  await client.query('delete from _prisma_migrations where migration_name = $1', [program.migration]);
  expect(await status()).toMatchObject({ state: 'pending', isFailure: true });

  // Its tables are there already.
  for (let n = 0; n < 2; n += 1) await expect(run('migrate')).rejects.toThrow(/already exists/);
  const failed = await status();
  expect(failed).toMatchObject({ state: 'failed', isFailure: true });
  expect(failed.migrations.at(-1)).toMatchObject({
    ...{ name: program.migration, state: 'failed', at: expect.any(String) },
    reason: expect.stringMatching(/failed, nothing of it was kept: .*already exists/),
  });
  expect(failed.text).toContain('already exists');
  const records = await client.query('select from _prisma_migrations where migration_name = $1', [program.migration]);
  expect(records.rowCount, 'of two failures').toBe(1);

  await client.query(
    `insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
     values ('mended', '', $1, now(), 1), ('later', '', '29990101000000_later', now(), 1)`,
    [program.migration],
  );
  const later = await status();
  expect(later).toMatchObject({ state: 'newer', isFailure: true });
  expect(later.migrations.map(({ state }) => state)).toEqual([...migrations.map(() => 'applied'), 'later']);
});

it('shows different SQL functions as pending', async () => {
  const { client, run, status } = await openDatabase({ empty: true });
  await run('migrate');
  await client.query('update schema_functions set version = version - 1');
  expect(await status()).toMatchObject({ state: 'pending', isFailure: true, states: new Set(['applied']) });
});
