import { expect, it } from 'vitest';
import { OLDEST_BESIDE, VERSION } from '../../../src/process/version.ts';
import { connect, createTestDatabase } from '../../support/database.ts';
import { openCommands } from '../../support/operator.ts';

/** `migrate --status`: what a database has of the schema of this version. */

interface Status {
  state: string;
  version: string;
  database: { migration: string | null; functions: { version: number } | null; release: object | null };
  program: { migration: string; functions: { version: number } };
  olderProcesses: object[];
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
  expect(database).toEqual({ migration: null, functions: null, release: null });
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
  expect(database.release).toEqual({ version: VERSION, oldestBeside: OLDEST_BESIDE });
  expect(text).toContain(`of ${VERSION}; the oldest release that may run beside it is ${OLDEST_BESIDE}\n`);
  expect(text).toMatch(/^older +no running process/m);
});

it('shows what is missing, what failed with the reason, and the schema of a later version', async () => {
  const { client, run, status } = await openDatabase({ empty: true });
  await run('migrate');
  const { migrations } = await status();
  const names = migrations.map(({ name }) => name);
  await client.query('delete from _prisma_migrations');
  expect(await status()).toMatchObject({ state: 'pending', isFailure: true });

  // Its tables are there already.
  for (let n = 0; n < 2; n += 1) await expect(run('migrate')).rejects.toThrow(/already exists/);
  const failed = await status();
  expect(failed).toMatchObject({ state: 'failed', isFailure: true });
  expect(failed.migrations[0]).toMatchObject({
    name: names[0],
    state: 'failed',
    at: expect.any(String),
    reason: expect.stringMatching(/failed, nothing of it was kept: .*already exists/),
  });
  expect(failed.text).toContain('already exists');
  const records = await client.query('select from _prisma_migrations');
  expect(records.rowCount, 'of two failures').toBe(1);

  await client.query(
    `insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
     select gen_random_uuid(), '', name, now(), 1 from unnest($1::text[] || '29990101000000_later'::text) as name`,
    [names],
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

it('shows the release of the database, and the processes that are too old', async () => {
  const { client, status } = await openDatabase({ empty: false });
  await client.query(`update schema_release set version = '99.1.0', oldest_beside = '99.0.0'`);
  const beat =
    'insert into instance (role, version, in_flight, capacity, last_seen_at) values ($1, $2, 0, 0, jobferry_now() - $3::interval)';
  await client.query(beat, ['api', '98.0.0', '20 s']);
  await client.query(beat, ['worker', '98.0.1', '40 s']);
  await client.query(beat, ['all', '99.0.0', '0 s']);
  const { database, olderProcesses, text } = await status();
  expect(database.release).toEqual({ version: '99.1.0', oldestBeside: '99.0.0' });
  expect(olderProcesses).toEqual([{ role: 'api', version: '98.0.0' }]);
  expect(text).toMatch(/^older +release 98\.0\.0 \(1 API\): too old/m);
});

it('shows a release that the database does not know yet as pending', async () => {
  const { client, status } = await openDatabase({ empty: false });
  await client.query('delete from schema_release');
  const { state, text } = await status();
  expect(state).toBe('pending');
  expect(text).toContain('the database has no record of the release');
});
