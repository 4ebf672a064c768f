import { expect, it } from 'vitest';
import { migrate, schemaReport } from '../../src/db/schema/migrate.ts';
import { applyMigrations } from '../../src/db/schema/migrations.ts';
import { noteRelease, OWN_RELEASE } from '../../src/db/schema/release.ts';
import { parseConfig } from '../../src/process/config.ts';
import { openDatabase } from '../../src/process/open-database.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { laterMigrations } from '../support/later-migrations.ts';

/** The release that the database names, and the processes that keep it from being migrated. */

const quiet = { info: () => undefined, warn: () => undefined };
const LATER = { version: '99.2.0', oldestBeside: '99.1.0' };

async function open(options: { empty?: boolean } = {}) {
  const { url } = await createTestDatabase(options);
  const client = await connect(url);
  const stored = async () => (await schemaReport(client)).release;
  const beat = (role: string, version: string, ago = '0 s') =>
    client.query(
      `insert into instance (role, version, in_flight, capacity, last_seen_at)
       values ($1, $2, 0, 0, jobferry_now() - $3::interval)`,
      [role, version, ago],
    );
  return { url, client, stored, beat };
}

/** A migration that only a later release has. */
const LATER_MIGRATION = `
  insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
  values ('later', '', '29990101000000_later', now(), 1)`;

it('is stored with the first migration, and replaced by later releases only', async () => {
  const { url, stored } = await open({ empty: true });
  await migrate({ url, log: quiet });
  expect(await stored()).toEqual(OWN_RELEASE);
  await migrate({ url, log: quiet, release: LATER });
  expect(await stored()).toEqual(LATER);
  await migrate({ url, log: quiet, release: { version: '99.1.5', oldestBeside: '99.0.0' } });
  expect(await stored()).toEqual(LATER);
});

it('is stored with a migration, although one after it fails', async () => {
  const { url, client, stored } = await open();
  const before = await stored();
  const folder = laterMigrations({
    '29990101000000_first': 'alter table account add later integer',
    '29990101000001_second': 'alter table account add later integer',
  });
  const applying = applyMigrations(client, {
    url,
    log: quiet,
    folder,
    inEach: () => noteRelease(client, LATER, before),
  });
  await expect(applying).rejects.toThrow(/^migration 29990101000001_second failed/);
  const { rows } = await client.query('select version from schema_release');
  expect(rows).toEqual([{ version: LATER.version }]);
});

it('is not reached while processes run that may not run beside it, and the database stays as it was', async () => {
  const { url, client, stored, beat } = await open();
  const before = await stored();
  await client.query('update schema_functions set version = version - 1');
  for (const version of ['99.0.9', '99.0.9', '99.1.0', '99.2.0']) await beat('api', version);
  await beat('worker', '99.0.9');
  const attempt = () => migrate({ url, log: quiet, release: LATER });
  await expect(attempt()).rejects.toThrow(
    'refused: processes of release 99.0.9 (2 API, 1 worker) run, and 99.2.0 may run beside 99.1.0 or later only',
  );
  expect(await stored()).toEqual(before);
  expect((await schemaReport(client)).state).toBe('behind');

  await client.query(`update instance set last_seen_at = last_seen_at - interval '31 s' where version = '99.0.9'`);
  await attempt();
  expect(await stored()).toEqual(LATER);
});

it('does not refuse a start for older processes if there is nothing to do', async () => {
  const { url, beat } = await open();
  await migrate({ url, log: quiet, release: LATER });
  await beat('api', '99.0.0');
  await expect(migrate({ url, log: quiet, release: LATER })).resolves.toEqual({ applied: [] });
});

it('decides who runs beside a database with a later schema', async () => {
  const { url, client } = await open();
  await migrate({ url, log: quiet, release: LATER });
  await client.query(LATER_MIGRATION);
  let isDone = false;
  const run = (version: string, mayRunBeside = true) =>
    migrate({
      url,
      log: quiet,
      mayRunBeside,
      release: { version, oldestBeside: '1.0.0' },
      afterMigrations: async () => {
        isDone = true;
      },
    });
  await expect(run('99.1.0')).resolves.toEqual({ applied: [], beside: LATER.version });
  await expect(run('99.1.0', false)).rejects.toThrow(
    'by a later version of Jobferry, 99.2.0 (29990101000000_later), and this is 99.1.0: only `serve` runs beside it',
  );
  await expect(run('99.0.9')).rejects.toThrow(
    'of release 99.2.0, and the oldest release that may run beside it is 99.1.0: this is 99.0.9',
  );
  await expect(run('99.2.0')).rejects.toThrow(/another build of 99\.2\.0, and this is 99\.2\.0: run that build/);
  await client.query('delete from schema_release');
  await expect(run('99.1.0')).rejects.toThrow(
    /later version of Jobferry \(29990101000000_later\), and this is 99\.1\.0/,
  );
  expect(isDone).toBe(false);
});

it('does not let a process run beside it after the database was moved', async () => {
  const { url, client } = await open();
  await migrate({ url, log: quiet, release: { ...LATER, oldestBeside: OWN_RELEASE.version } });
  await client.query(LATER_MIGRATION);
  const start = () =>
    openDatabase(parseConfig({ DATABASE_URL: url }), createLog({ level: 'silent' }), {
      guest: false,
      migrates: 'always',
    });
  const beside = await start();
  expect(beside.runsBeside).toBe(true);
  await beside.close();
  await client.query('update schema_release set moved_at = jobferry_now()');
  await expect(start().then(({ close }) => close())).rejects.toThrow('this database was moved to another place at ');
});
