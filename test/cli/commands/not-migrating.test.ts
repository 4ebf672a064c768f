import { expect, it } from 'vitest';
import { VERSION } from '../../../src/process/version.ts';
import { connect, createTestDatabase } from '../../support/database.ts';
import { openCommands } from '../../support/operator.ts';

/**
 * Commands other than `serve` and `migrate` on a database whose schema is not that of this release:
 * they change nothing.
 */

const LOOKING = [
  ['account', 'list'],
  ['queue', 'list'],
  ['key', 'list', '--account', '0'.repeat(24)],
  ['job', 'list', '--queue', 'orders'],
  ['sign-in-link'],
];

async function open({ empty = false } = {}) {
  const { url } = await createTestDatabase({ empty });
  const client = await connect(url);
  const stateOf = `
    select (select count(*) from pg_class where relnamespace = 'public'::regnamespace) as relations,
           (select count(*) from pg_namespace where nspname = 'graphile_worker') as schemas`;
  return { client, run: openCommands(url).run, state: async () => (await client.query(stateOf)).rows[0] };
}

it.each(LOOKING)('%s %s says that a database is empty, and leaves it so', async (...argv) => {
  const { run, state } = await open({ empty: true });
  const before = await state();
  await expect(run(...argv)).rejects.toThrow('has no tables of Jobferry yet: `jobferry migrate` creates them');
  expect(await state()).toEqual(before);
});

it('an account is created in an empty database', async () => {
  const { run } = await open({ empty: true });
  await run('account', 'create', '--name', 'a', '--plan', 'pro');
  expect((await run('account', 'list')).text).toMatch(/ a +pro /);
});

it('commands refuse a database of an earlier release, and of another build, and name the command', async () => {
  const { client, run } = await open();
  const functions = async () => (await client.query('select * from schema_functions')).rows;
  await client.query(`update schema_release set version = '0.0.9', oldest_beside = '0.0.9'`);
  await client.query('update schema_functions set version = version - 1');
  const before = await functions();
  for (const argv of [...LOOKING, ['account', 'create', '--name', 'a', '--plan', 'pro']]) {
    await expect(run(...argv)).rejects.toThrow(
      `the database is of the earlier release 0.0.9, and this is ${VERSION}: \`jobferry migrate\` brings it to ${VERSION}; ` +
        'or run this command of the release that uses the database',
    );
  }
  expect(await functions()).toEqual(before);
  await client.query('update schema_release set version = $1', [VERSION]);
  await expect(run('queue', 'list')).rejects.toThrow(`of another build of ${VERSION}: \`jobferry migrate\``);
  await client.query('delete from schema_release');
  await expect(run('queue', 'list')).rejects.toThrow(
    `of an earlier build, which it does not name, and this is ${VERSION}`,
  );
});

it('commands use a database of an earlier release with the same schema', async () => {
  const { client, run } = await open();
  await client.query(`update schema_release set version = '0.0.9', oldest_beside = '0.0.9'`);
  expect((await run('queue', 'list')).text).toMatch(/^No queues/);
  expect((await client.query('select version from schema_release')).rows).toEqual([{ version: '0.0.9' }]);
});
