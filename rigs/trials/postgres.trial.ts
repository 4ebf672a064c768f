import { describe, expect, it } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { startJobferry } from '../../test/support/process.ts';
import { TrialLoad } from './load.ts';
import { report } from './report.ts';
import { POSTGRES_15, startInstalled } from './server.ts';

const KEY = 'key-of-the-bootstrap-account';
const JOBS = Number(process.env.TRIALS_JOBS ?? 2000);

describe.skipIf(POSTGRES_15 === null)('trial 1: PostgreSQL 15', () => {
  it('takes 50 jobs a second, with an API and a worker that start together on an empty database', async () => {
    const server = await startInstalled();
    const env = { BOOTSTRAP_API_KEY: KEY };
    const [api] = await Promise.all([
      startJobferry({ databaseUrl: server.url, role: 'api', env }),
      startJobferry({ databaseUrl: server.url, role: 'worker', env }),
    ]);
    const client = createApi(api.baseUrl, KEY);
    const load = await TrialLoad.open(() => client);
    await load.publish(JOBS, 50);
    const verdict = await load.judge(server.url);
    // graphile-worker looks for its own table in a new database, which is how it learns that it is not installed.
    const logged = server
      .logged(/ (ERROR|WARNING|FATAL|PANIC): /)
      .filter((line) => !line.includes('"graphile_worker.migrations" does not exist'));
    await report('1 PostgreSQL 15', { ...verdict, errorsInServerLog: logged.length });
    expect(verdict).toMatchObject({ gone: 0, undelivered: 0 });
    expect(logged).toEqual([]);
  });
});
