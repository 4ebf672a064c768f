import { expect, it } from 'vitest';
import { VERSION } from '../../src/process/version.ts';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { makeRelease, migrationOf } from '../support/next-release.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Processes of this release on a database that a later one has migrated.
 * The later ones are this build with other numbers.
 */

const [MAJOR = 0] = VERSION.split('.').map(Number);
const NEXT = `${MAJOR + 1}.0.0`;
const AFTER_NEXT = `${MAJOR + 2}.0.0`;

async function readiness({ baseUrl }: Jobferry) {
  const response = await fetch(`${baseUrl}/readyz`);
  const { checks } = (await response.json()) as { checks: Record<string, string> };
  return { status: response.status, checks };
}

async function open() {
  const { url: databaseUrl } = await createTestDatabase();
  const client = await connect(databaseUrl);
  const { key } = await createAccount(databaseUrl);
  const run = (main: string | undefined, ...args: string[]) =>
    runJobferry(args, { DATABASE_URL: databaseUrl }, undefined, main);
  const state = async () => {
    const { rows } = await client.query(
      `select (select max(version) from schema_functions) as functions, version as release,
              (select count(*)::integer from _prisma_migrations) as migrations
         from schema_release`,
    );
    return rows[0];
  };
  return { databaseUrl, client, key, run, state };
}

const linesOf = ({ logs }: Jobferry, pattern: RegExp) => logs.filter(({ msg }) => pattern.test(msg));

it('the last release starts beside this one and delivers, and an earlier one is refused in words', async () => {
  const { databaseUrl, client, key, run, state } = await open();
  const [next, afterNext] = await Promise.all([
    makeRelease({ version: NEXT, oldestBeside: VERSION }),
    makeRelease({ version: AFTER_NEXT, oldestBeside: NEXT }, [NEXT]),
  ]);
  expect(await run(next, 'migrate')).toMatchObject({ code: 0, stdout: `Applied:\n${migrationOf(NEXT)}\n` });
  const migrated = await state();
  expect(migrated).toMatchObject({ release: NEXT });

  const present = await startJobferry({ databaseUrl });
  expect(linesOf(present, /runs beside it/)).toMatchObject([{ version: VERSION, release: NEXT }]);
  expect(await readiness(present)).toMatchObject({ status: 200, checks: { schema: 'ok', worker: 'ok' } });
  const api = createApi(present.baseUrl, key);
  const receiver = await openReceiver();
  const queue = await api.createQueue({ webhookUrl: receiver.url });
  await api.publish(queue.name);
  await receiver.waitFor(1);
  expect(await state()).toEqual(migrated);
  expect((await client.query(`select from follower where name = 'sweep'`)).rowCount, 'sweeps').toBe(0);
  expect(await run(undefined, 'account', 'list')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(`, ${NEXT} \\(.*\\), and this is ${VERSION}: only \`serve\` runs beside it`),
  });

  const refused = await run(afterNext, 'migrate');
  expect(refused.stderr).toContain(`refused: processes of release ${VERSION} (1 API and worker) run`);
  expect(refused.stderr).toContain(`Upgrade them to ${NEXT} first, or stop them`);
  expect(refused.code).toBe(1);
  expect(await state()).toEqual(migrated);
  expect((await readiness(present)).status).toBe(200);

  await present.kill();
  expect(await run(afterNext, 'migrate')).toMatchObject({ code: 0, stdout: `Applied:\n${migrationOf(AFTER_NEXT)}\n` });
  expect(await run(undefined, 'serve')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      `the database is of release ${AFTER_NEXT}, and the oldest release that may run beside it is ${NEXT}: ` +
        `this is ${VERSION}: run ${AFTER_NEXT}`,
    ),
  });
});

it('a process that may not run on the database any more finishes its deliveries, and claims nothing', async () => {
  const { databaseUrl, client, key } = await open();
  const gate = createGate();
  const receiver = await openReceiver(async () => {
    await gate.opened;
    return { status: 200 };
  });
  const present = await startJobferry({ databaseUrl });
  const api = createApi(present.baseUrl, key);
  const queue = await api.createQueue({ webhookUrl: receiver.url });
  const { id: running } = await api.publish(queue.name);
  await waitFor(() => receiver.inFlight === 1, { message: 'the delivery' });

  await client.query('update schema_release set version = $1, oldest_beside = $2', [AFTER_NEXT, NEXT]);
  // It finds out by itself: a worker may have no load balancer that asks for /readyz.
  await waitFor(() => linesOf(present, /may not run beside/).length > 0, { message: 'the line about it' });
  const { status, checks } = await readiness(present);
  expect(status).toBe(503);
  expect(checks).toMatchObject({
    schema: `the database is of release ${AFTER_NEXT}, and the oldest release that may run beside it is ${NEXT}: this is ${VERSION}`,
    worker: 'stopped',
  });
  gate.open();
  const statusOf = async (id: string) =>
    (await client.query<{ status: string }>('select status from job where id = $1', [id])).rows[0]?.status;
  await waitFor(async () => (await statusOf(running)) === 'completed', { message: 'the outcome' });

  const { id: later } = await api.publish(queue.name);
  // A worker would have claimed it meanwhile.
  const beat = 'select from instance where capacity = 0 and last_seen_at > (select created_at from job where id = $1)';
  await waitFor(async () => (await client.query(beat, [later])).rowCount === 1, { message: 'a heartbeat' });
  expect(await statusOf(later)).toBe('pending');
  expect(linesOf(present, /may not run beside/)).toHaveLength(1);
});
