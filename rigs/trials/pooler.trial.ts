import { afterAll, describe, expect, it } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { runJobferry } from '../../test/support/command.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { hasNoPgBouncer, startPgBouncer } from '../../test/support/pgbouncer.ts';
import { startJobferry } from '../../test/support/process.ts';
import { TrialLoad } from './load.ts';
import { report } from './report.ts';

const KEY = 'key-of-the-bootstrap-account';
const SETTINGS = 'set statement_timeout = 4000; set idle_in_transaction_session_timeout = 10000; set jit = off';
const IGNORED = 'statement_timeout,idle_in_transaction_session_timeout,options';

describe.skipIf(hasNoPgBouncer)('trial 3: PgBouncer', () => {
  const said: Record<string, string> = {};
  afterAll(() => report('3 PgBouncer, refused starts', said));

  it.each([
    ['session, default configuration', 'session', undefined],
    ['session, with ignored parameters', 'session', IGNORED],
    ['transaction, with ignored parameters', 'transaction', IGNORED],
  ] as const)('%s: four processes that start together are refused in words', async (name, mode, ignored) => {
    const { url } = await createTestDatabase({ empty: true });
    const databaseUrl = await startPgBouncer(url, { mode, ...(ignored === undefined ? {} : { ignored }) });
    const ends = await Promise.all(
      Array.from({ length: 4 }, () => runJobferry(['serve'], { DATABASE_URL: databaseUrl, BOOTSTRAP_API_KEY: KEY })),
    );
    said[name] = [
      ...new Set(ends.map(({ stderr }) => stderr.split('\n').find((line) => line.startsWith('jobferry: ')) ?? '')),
    ].join('; ');
    expect(ends.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
    expect(said[name]).toContain('DIRECT_DATABASE_URL');
  });

  it('transaction, with DIRECT_DATABASE_URL: four processes that start together take 400 jobs', async () => {
    const { url: direct } = await createTestDatabase({ empty: true });
    const databaseUrl = await startPgBouncer(direct, { mode: 'transaction', connectQuery: SETTINGS });
    const env = { BOOTSTRAP_API_KEY: KEY, DIRECT_DATABASE_URL: direct };
    const roles = ['api', 'api', 'worker', 'worker'] as const;
    const processes = await Promise.all(
      roles.map((role) => startJobferry({ databaseUrl, role, env, readyWithinMs: 60_000 })),
    );
    const apis = processes.slice(0, 2).map(({ baseUrl }) => createApi(baseUrl, KEY));
    let turn = 0;
    const load = await TrialLoad.open(() => {
      turn += 1;
      return apis[turn % 2] as (typeof apis)[0];
    });
    await load.publish(400, 10);
    const verdict = await load.judge(direct);
    const problems = processes.flatMap(({ logs }) => logs.filter(({ level }) => level === 'error' || level === 'warn'));
    const messages = [...new Set(problems.map(({ msg }) => msg))];
    await report('3 PgBouncer, transaction mode', { ...verdict, warningsInLogs: messages });
    expect(verdict).toMatchObject({ gone: 0, undelivered: 0, repeated: 0 });
  });
});
