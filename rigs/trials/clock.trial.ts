import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { connect, createTestDatabase } from '../../test/support/database.ts';
import { startJobferry } from '../../test/support/process.ts';
import { TrialLoad } from './load.ts';
import { report } from './report.ts';

/**
 * Trial 9: the clock of the database. Jobferry reads it by one function, which is replaced here,
 * as the server's could be.
 */

const KEY = 'key-of-the-bootstrap-account';
const HOUR = 3600;

it.each([
  ['an hour ahead', HOUR, 10],
  ['an hour back', -HOUR, 10],
  ['100 hours ahead', 100 * HOUR, 70],
])('trial 9: %s for a while, under load', async (name, seconds, duration) => {
  const { url: databaseUrl } = await createTestDatabase();
  const env = { BOOTSTRAP_API_KEY: KEY, RETENTION_SWEEP_SECONDS: '5' };
  const jobferry = await startJobferry({ databaseUrl, env });
  const api = createApi(jobferry.baseUrl, KEY);
  const load = await TrialLoad.open(() => api);
  const client = await connect(databaseUrl);
  const shift = (by: number) =>
    client.query(`create or replace function jobferry_now() returns timestamptz language sql volatile parallel safe
      as $$ select date_trunc('milliseconds', clock_timestamp() + interval '${by} seconds') $$`);
  const publishing = load.publish(20 * (duration + 20), 20);
  await sleep(10_000);
  await shift(seconds);
  await sleep(duration * 1000);
  await shift(0);
  await publishing;
  // Jobs that wait for a time an hour from now: the wait is by the clock that was wrong.
  await client.query(
    `update job set scheduled_for = jobferry_now() where status = 'pending' and scheduled_for > jobferry_now() + interval '5 min'`,
  );
  await client.query(
    "update queue set hold_until = jobferry_now() where hold_until > jobferry_now() + interval '5 min'",
  );
  const verdict = await load.judge(databaseUrl);
  const said = jobferry.logs.filter(({ msg }) => /clock/.test(msg)).map(({ msg }) => msg);
  await report(`9 clock, ${name}`, { ...verdict, log: [...new Set(said)] });
  expect(verdict).toMatchObject({ gone: 0, undelivered: 0 });
});

it('trial 9: a retention of 20 s, with jobs in backoff and delayed', async () => {
  const { url: databaseUrl } = await createTestDatabase();
  const env = { BOOTSTRAP_API_KEY: KEY, JOB_RETENTION_SECONDS: '20', RETENTION_SWEEP_SECONDS: '2' };
  const jobferry = await startJobferry({ databaseUrl, env });
  const api = createApi(jobferry.baseUrl, KEY);
  await api.createQueue({ name: 'q', webhookUrl: 'http://127.0.0.1:9/', backoffDelay: 3600, backoffType: 'fixed' });
  const jobs = [await api.publish('q'), await api.publish('q', { payload: {}, delay: 60 })];
  await sleep(40_000);
  const states = await Promise.all(
    jobs.map(async ({ id }) => (await api.call<{ status: string }>('GET', `/v1/jobs/${id}`)).body.status),
  );
  await report('9 a short retention', { states });
  expect(states).toEqual(['pending', 'pending']);
});
