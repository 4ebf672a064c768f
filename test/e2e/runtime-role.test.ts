import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Processes that may not change the schema: `AUTO_MIGRATE=0`, and a database role without the rights for it. */

async function createRole() {
  const { url: owner } = await createTestDatabase({ empty: true });
  const role = `run_${randomBytes(4).toString('hex')}`;
  const admin = await connect(owner);
  await admin.query(`create role ${role} login password 'secret'`);
  atEndOfFile(async () => {
    const last = await import('pg').then(({ default: pg }) => new pg.Client({ connectionString: owner }));
    await last.connect();
    await last.query(`drop owned by ${role}`).then(() => last.query(`drop role ${role}`));
    await last.end();
  });
  const url = new URL(owner);
  [url.username, url.password] = [role, 'secret'];
  return { owner, role, url: url.href, admin };
}

it('a role without rights to change the schema serves, delivers and wakes', async () => {
  const { owner, role, url, admin } = await createRole();
  const run = (args: string[], env: Record<string, string> = {}) => runJobferry(args, { DATABASE_URL: owner, ...env });
  const without = await run(['serve'], { AUTO_MIGRATE: '0' });
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('`jobferry migrate` creates them') });
  expect(await run(['migrate', '--grant-to', 'absent_role'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the database role absent_role does not exist'),
  });
  await admin.query('create table of_another_application ()');
  const grant = async () => {
    const granted = await run(['migrate', '--grant-to', role]);
    expect(granted).toMatchObject({ code: 0, stdout: expect.stringContaining(`Granted to ${role}`) });
  };
  await grant();
  // As after an upgrade that has added a table.
  await admin.query(`revoke insert on release_run from ${role}`);
  expect(await run(['serve'], { AUTO_MIGRATE: '0', DATABASE_URL: url })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`role ${role} may not change release_run: \`jobferry migrate --grant-to ${role}\``),
  });
  await grant();
  const { key } = await createAccount(owner);
  const limited = await connect(url);
  const changes = ['create table mine ()', 'alter table job add column x text', 'drop function jobferry_now()'];
  for (const change of [...changes, 'table of_another_application', 'delete from _prisma_migrations']) {
    await expect(limited.query(change), change).rejects.toThrow(/permission denied|must be owner/);
  }

  expect(await run(['backup', '/dev/null/none', '--final'], { DATABASE_URL: url })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('it needs the database role that owns the tables'),
  });

  const jobferry = await startJobferry({
    databaseUrl: url,
    env: { AUTO_MIGRATE: '0', RETENTION_SWEEP_SECONDS: '0.1' },
  });
  const api = createApi(jobferry.baseUrl, key);
  const receiver = await openReceiver();
  const queue = await api.createQueue({ webhookUrl: receiver.url });
  await api.publish(queue.name);
  await api.publish(queue.name, { payload: {}, delay: 3 });
  await receiver.waitFor(1);
  const wakeUps = async () =>
    (await limited.query(`select from graphile_worker.jobs where task_identifier = 'deliver'`)).rowCount;
  expect(await wakeUps()).toBeGreaterThan(0);
  await receiver.waitFor(2);
  // graphile-worker removes the row that it has used.
  await waitFor(async () => (await wakeUps()) === 0, { message: 'the used wake-ups to go' });
  expect(JSON.stringify(jobferry.logs)).not.toContain('permission denied');
  const advice = `as a superuser: grant pg_read_all_stats to ${role}`;
  expect(jobferry.logs.filter((line) => line.fix === advice)).toHaveLength(1);
  const { stdout: report } = await run(['doctor'], { DATABASE_URL: url });
  for (const check of ['locks', 'bloat'])
    expect(report).toMatch(new RegExp(`^warning +${check} +.*\\n +→ ${advice}$`, 'm'));
  expect(await jobferry.kill()).toEqual({ code: 0, signal: null });

  await admin.query(`update schema_functions set version = version - 1`);
  await admin.query(`update schema_release set version = '0.0.9', oldest_beside = '0.0.9'`);
  const refused = await runJobferry(['serve'], { DATABASE_URL: url, AUTO_MIGRATE: '0' });
  expect(refused.stderr).toMatch(/of the earlier release 0\.0\.9, and this is .*: `jobferry migrate` brings it to/);
  expect(refused.code).toBe(1);
});
