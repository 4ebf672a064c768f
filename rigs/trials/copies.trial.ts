import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { openFolder } from '../../test/support/backup.ts';
import { type CommandResult, runJobferry } from '../../test/support/command.ts';
import { type Jobferry, startJobferry } from '../../test/support/process.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { TrialLoad } from './load.ts';
import { report } from './report.ts';
import { type InstalledServer, POSTGRES_15, startInstalled } from './server.ts';

const KEY = 'key-of-the-bootstrap-account';
const SECONDS_20 = 400;

async function statesOf(url: string): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ status: string; jobs: number }>(
    'select status, count(*)::int as jobs from job group by 1 order by 1',
  );
  await client.end();
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
}

function must(name: string, { code, stdout, stderr }: CommandResult): string {
  if (code !== 0) throw new Error(`${name}: ${stderr}`);
  return stdout;
}

/** Copies in the middle of a load, each started while the original is stopped. */
describe.skipIf(POSTGRES_15 === null)('trial 4: backup and restore', () => {
  let server: InstalledServer;
  let load: TrialLoad;
  let folder: string;
  /** Number of jobs that were accepted, and of deliveries, when all work of the original had ended. */
  let atEnd: { accepted: number; deliveries: number };
  const env = { BOOTSTRAP_API_KEY: KEY };

  beforeAll(async () => {
    server = await startInstalled();
    folder = await openFolder();
    const processes: Jobferry[] = await Promise.all([
      startJobferry({ databaseUrl: server.url, role: 'api', env }),
      startJobferry({ databaseUrl: server.url, role: 'worker', env }),
    ]);
    const client = createApi(processes[0]?.baseUrl ?? '', KEY);
    load = await TrialLoad.open(() => client);
    const publishing = load.publish(SECONDS_20, 20);
    await waitFor(() => load.accepted.length >= SECONDS_20 / 2, { timeoutMs: 60_000 });
    const copy = server.createDatabase('copy');
    // In the folder of the server, which is where its programs run.
    server.run('pg_dump', '-Fc', '-f', 'trial.dump', server.url);
    server.run('pg_restore', '-e', '-d', copy, 'trial.dump');
    must('backup', await runJobferry(['backup', join(folder, 'backup')], { DATABASE_URL: server.url }));
    await publishing;
    await load.judge(server.url);
    for (const one of processes) await one.kill();
    atEnd = { accepted: load.accepted.length, deliveries: load.requests.length };
  });

  /** Starts a service on a copy, waits until nothing is left to do, and reports what was delivered again. */
  async function outcomeOf(url: string, start: () => Promise<Jobferry[]>) {
    const inCopy = await statesOf(url);
    const before = load.requests.length;
    const processes = await start();
    // Reports go to the original, which is stopped, so jobs of the ack mode wait for their time-out.
    await waitFor(
      async () => {
        const { pending = 0, processing = 0 } = await statesOf(url);
        return pending + processing === 0;
      },
      { timeoutMs: 120_000, everyMs: 500 },
    );
    const again = load.requests.slice(before).map((request) => request.json().id);
    for (const one of processes) await one.kill();
    const jobs = Object.values(inCopy).reduce((sum, count) => sum + count, 0);
    return {
      inCopy,
      notInCopy: atEnd.accepted - jobs,
      deliveredAgain: new Set(again).size,
      after: await statesOf(url),
    };
  }

  it('pg_dump: the copy delivers again', async () => {
    const url = new URL(server.url);
    url.pathname = '/copy';
    const found = await outcomeOf(url.href, () => Promise.all([startJobferry({ databaseUrl: url.href, env })]));
    await report('4 pg_dump', found);
    expect(found.after.processing ?? 0).toBe(0);
  });

  it('backup and restore: nothing is delivered before the account is resumed; into the embedded database and back', async () => {
    const dataDir = await openFolder();
    const embedded = { DATA_DIR: dataDir };
    must('restore', await runJobferry(['restore', join(folder, 'backup')], embedded, 120_000));
    const before = load.requests.length;
    const first = await startJobferry({ env: { ...embedded, ...env } });
    const accounts = JSON.parse(must('list', await runJobferry(['account', 'list', '--json'], embedded))) as {
      id: string;
    }[];
    const whileSuspended = load.requests.length - before;
    await first.kill();
    must('backup', await runJobferry(['backup', join(folder, 'back')], embedded));
    const url = server.createDatabase('back');
    must('restore', await runJobferry(['restore', join(folder, 'back')], { DATABASE_URL: url }, 120_000));
    const found = await outcomeOf(url, async () => {
      must('resume', await runJobferry(['account', 'resume', accounts[0]?.id ?? ''], { DATABASE_URL: url }));
      return [await startJobferry({ databaseUrl: url, env })];
    });
    await report('4 backup and restore', { ...found, deliveredWhileSuspended: whileSuspended });
    expect(whileSuspended).toBe(0);
  });
});
