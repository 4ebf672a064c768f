import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { parsePage, samplesOf } from '../support/metrics-page.ts';
import { startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** The server takes no further connection of the role, as when another program has used up its own limit. */

async function createOwner() {
  const { url } = await createTestDatabase({ empty: true });
  const role = `limited_${randomBytes(4).toString('hex')}`;
  const admin = await connect(url);
  const of = new URL(url);
  await admin.query(`create role ${role} login password 'secret' connection limit 90`);
  await admin.query(`alter database "${of.pathname.slice(1)}" owner to ${role}; alter schema public owner to ${role}`);
  atEndOfFile(async () => {
    const last = new pg.Client({ connectionString: url });
    await last.connect();
    await last.query(`reassign owned by ${role} to current_user; drop role ${role}`);
    await last.end();
  });
  [of.username, of.password] = [role, 'secret'];
  return { url: of.href, role, admin };
}

it('publishes and deliveries go on over open connections; what lacks one says so by name', async () => {
  const { url, role, admin } = await createOwner();
  expect(await runJobferry(['migrate'], { DATABASE_URL: url })).toMatchObject({ code: 0 });
  const { key } = await createAccount(url);
  const jobferry = await startJobferry({ databaseUrl: url, readyWithinMs: 90_000 });
  const api = createApi(jobferry.baseUrl, key);
  const receiver = await openReceiver();
  const queue = await api.createQueue({ webhookUrl: receiver.url });
  const deliver = async () => api.waitForStatus((await api.publish(queue.name)).id, 'completed');
  const metric = async (name: string) => {
    const page = parsePage(await (await fetch(`${jobferry.baseUrl}/metrics`)).text(), 'prometheus');
    return samplesOf([page], name)[0]?.value;
  };
  const readiness = async () => {
    const answer = await fetch(`${jobferry.baseUrl}/readyz`);
    return ((await answer.json()) as { checks: Record<string, string> }).checks.database;
  };
  await deliver();
  // Series about the database are missing from a page that the database was too slow for.
  const measured = (name: string) => waitFor(() => metric(name), { message: name });
  expect(await measured('jobferry_database_server_connections_max')).toBe(90);
  const used = await measured('jobferry_database_server_connections');
  expect(used).toBeGreaterThan(2);
  expect(used).toBeLessThan(30);

  await admin.query(`alter role ${role} connection limit 1`);
  await deliver();
  expect(await readiness()).toBe('ok');
  expect(await measured('jobferry_database_up')).toBe(1);

  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role]);
  const named = 'no connection is left on the server (SQLSTATE 53300)';
  await waitFor(async () => (await readiness()) === named, { message: 'the reason in /readyz' });
  const { code, stdout } = await runJobferry(['doctor'], { DATABASE_URL: url });
  expect({ code, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/53300\): too many connections.*\n.*pg_stat_activity/),
  });
  // Which work fails first depends on who has the only connection.
  const isNamed = () => jobferry.logs.some((line) => JSON.stringify(line).includes('53300'));
  await waitFor(isNamed, { message: 'the reason in the log' });

  await admin.query(`alter role ${role} connection limit 20`);
  await waitFor(async () => (await readiness()) === 'ok', { message: 'a process that is ready again' });
  await deliver();
  const checked = await runJobferry(['doctor'], { DATABASE_URL: url });
  expect(checked.stdout).toContain('1 process needs up to 24 connections when busy, and the server allows 20');
});
