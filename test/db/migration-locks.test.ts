import type pg from 'pg';
import { expect, it } from 'vitest';
import { settle } from '../../src/db/delivery/settle.ts';
import { applyMigrations } from '../../src/db/schema/migrations.ts';
import { connect } from '../support/database.ts';
import { DELIVERED, openFixture, settlementOf } from '../support/database-fixture.ts';
import { laterMigrations } from '../support/later-migrations.ts';

/** A migration that needs locks which other sessions have. */

interface Warning {
  migration: string;
  tries: number;
  blockedBy: { pid: number; name: string; user: string; since: Date }[];
}

function logging() {
  const warnings: Warning[] = [];
  const log = { info: () => undefined, warn: (fields: object) => void warnings.push(fields as Warning) };
  return { log, warnings };
}

/** A session in a transaction, like that of a backup. */
async function openBackup(url: string): Promise<{ backup: pg.Client; pid: number }> {
  const backup = await connect(url);
  await backup.query("set application_name = 'pg_dump'");
  const { rows } = await backup.query<{ pid: number }>('select pg_backend_pid() as pid');
  await backup.query('begin');
  return { backup, pid: rows[0]?.pid ?? 0 };
}

it('waits for a backup without holding up deliveries, and names it', async () => {
  const fixture = await openFixture();
  const { url, db } = fixture;
  const queue = await fixture.createQueue();
  const deliver = async () => {
    const [id = ''] = await fixture.publishJobs(queue, 1);
    const { jobs } = await fixture.claim(queue, 1);
    await settle(
      db,
      jobs.map((job) => settlementOf(job, DELIVERED, Date.now())),
    );
    expect(await db.query('select status from job where id = $1', [id])).toEqual([{ status: 'completed' }]);
  };
  const { backup, pid } = await openBackup(url);
  await backup.query('lock table queue, job, attempt, dead_letter in access share mode');

  const { log, warnings } = logging();
  const name = '29990101000000_later';
  const folder = laterMigrations({
    [name]: 'alter table queue add later integer; alter table attempt add later integer;',
  });
  const client = await connect(url);
  const applying = applyMigrations(client, { url, log, folder });
  const columns = () =>
    db.query(`select table_name from information_schema.columns where column_name = 'later' order by 1`);
  // From the first try on, which holds up deliveries, to the pause after it, which does not.
  for (let n = 0; n < 3 || warnings.length === 0; n += 1) await deliver();
  await deliver();
  expect(await columns()).toEqual([]);
  const user = new URL(url).username;
  expect(warnings[0]).toEqual({
    migration: name,
    tries: 1,
    blockedBy: [{ pid, name: 'pg_dump', user, since: expect.any(Date) }],
  });

  await backup.query('commit');
  expect(await applying).toEqual([name]);
  expect(await columns()).toEqual([{ table_name: 'attempt' }, { table_name: 'queue' }]);
});

it('waits for no session that has no lock', async () => {
  const { url } = await openFixture();
  const { log, warnings } = logging();
  const folder = laterMigrations({ '29990101000000_later': 'alter table queue add later integer;' });
  await openBackup(url);
  expect(await applyMigrations(await connect(url), { url, log, folder })).toEqual(['29990101000000_later']);
  expect(warnings).toEqual([]);
});

it('fails at once for any other reason', async () => {
  const { url } = await openFixture();
  const folder = laterMigrations({ '29990101000000_later': 'alter table queue add id integer;' });
  const applying = applyMigrations(await connect(url), { url, log: logging().log, folder });
  await expect(applying).rejects.toThrow(/^migration 29990101000000_later failed, .*: column "id" .* already exists$/);
});

it('leaves no constraint unchecked', async () => {
  const { db } = await openFixture();
  expect(await db.query('select conname from pg_constraint where not convalidated')).toEqual([]);
});
