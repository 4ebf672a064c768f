import { beforeAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../src/domain/doctor.ts';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { openCommands } from '../support/operator.ts';
import { openReceiver, startService } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';

/** `doctor` on a database that a process uses. What it makes of the facts is in test/domain/doctor.test.ts. */

let databaseUrl: string;
let op: TestServices;

beforeAll(async () => {
  const service = await startService();
  databaseUrl = service.databaseUrl;
  op = openServices(databaseUrl);
  const receiver = await openReceiver();
  const queue = await service.api.createQueue({ webhookUrl: receiver.url });
  await service.api.waitForStatus((await service.api.publish(queue.name)).id, 'completed');
});

async function findings(...checks: string[]): Promise<Finding[]> {
  const { json } = await openCommands(databaseUrl).run('doctor');
  return (json as { findings: Finding[] }).findings.filter(({ check }) => checks.includes(check));
}

it('finds a running service in order', async () => {
  const found = await findings('standbys', 'schema', 'indexes', 'bloat', 'sequence', 'clock', 'lag', 'disk', 'fleet');
  expect(found.filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(found).toHaveLength(9);
});

it('finds what is wrong, and ends with 1', async () => {
  await op.db.query('drop index dismissal_until_idx');
  await op.db.query(`select setval('jobferry_claim_token_seq', 1)`);
  await op.db.query(`update job set status = 'processing', claim_token = 9, completed_at = null,
                            deadline = now() + interval '1 h', worker_id = 1`);
  const { code, stdout } = await runJobferry(['doctor'], { DATABASE_URL: databaseUrl });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^problem {2}indexes {3}the index dismissal_until_idx is missing\n +→ create it/m);
  expect(stdout).toMatch(/^problem {2}sequence {2}.*\n +→ select setval\('jobferry_claim_token_seq', 1000009\)$/m);
});

it.each([
  [
    'of a wrong name',
    (url: URL) => url.pathname.replace(/$/, '_none'),
    /^problem {2}database {2}cannot be reached: .*_none/,
  ],
])('names a database %s once, with the cause', async (_name, pathOf, said) => {
  const url = new URL(databaseUrl);
  url.pathname = pathOf(url);
  const { code, stdout } = await runJobferry(['doctor'], { DATABASE_URL: url.href });
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(said) });
  expect(stdout.match(/^(problem|warning|ok) /gm)).toHaveLength(1);
});

describe('a database without the tables of a release', () => {
  const problemsOf = async (url: string) => {
    const { json, isFailure } = await openCommands(url).run('doctor');
    expect(isFailure).toBe(true);
    return (json as { findings: Finding[] }).findings.filter(({ status }) => status === 'problem');
  };

  it('is empty: nothing is changed, and one line says so', async () => {
    const { url } = await createTestDatabase({ empty: true });
    expect(await problemsOf(url)).toEqual([
      expect.objectContaining({ check: 'schema', what: 'the database has no tables of Jobferry yet' }),
    ]);
    const other = openServices(url).db;
    expect(await other.query(`select from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([]);
  });

  it('was made before the first release: one line says so', async () => {
    const { url } = await createTestDatabase();
    await openServices(url).db.query(`update _prisma_migrations set migration_name = '20261121000000_init'`);
    expect(await problemsOf(url)).toEqual([
      expect.objectContaining({
        check: 'schema',
        what: expect.stringContaining('migrations that no release of Jobferry has'),
      }),
    ]);
  });

  it('lacks migrations: their indexes are not told one by one', async () => {
    const { url } = await createTestDatabase();
    const { db } = openServices(url);
    await db.query('drop index dismissal_until_idx');
    await db.query('update schema_functions set version = version - 1');
    const found = await problemsOf(url);
    expect(found.find(({ check }) => check === 'schema')?.fix).toBe('run: jobferry migrate');
    expect(found.filter(({ check }) => check === 'indexes')).toEqual([]);
  });
});
