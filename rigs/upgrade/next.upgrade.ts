import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { VERSION } from '../../src/process/version.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { makeRelease } from '../../test/support/next-release.ts';
import { KEY, startBuild, workerIdOf } from './build.ts';
import { Clients } from './clients.ts';
import { Load } from './load.ts';

/** A crash during a rolling upgrade: a process of this build starts again beside a later release, under load. */

const NEXT = `${Number(VERSION.split('.')[0]) + 1}.0.0`;

it('loses no job when a process of this release is killed and starts again beside the next one', async () => {
  const main = await makeRelease({ version: NEXT, oldestBeside: VERSION });
  const { url: databaseUrl } = await createTestDatabase({ empty: true });
  const env = { BOOTSTRAP_API_KEY: KEY, ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  const present = await startBuild({ databaseUrl, env });
  const load = await Load.open(databaseUrl, present);
  const throughPresent = new Clients(load, present);
  await Clients.more(throughPresent);
  const next = await startBuild({ databaseUrl, env, main });
  const throughNext = new Clients(load, next);
  await Clients.more(throughPresent, throughNext);
  await throughPresent.leave();
  await present.jobferry.kill('SIGKILL');

  const again = await startBuild({ databaseUrl, env });
  expect(again.jobferry.logs.some(({ msg }) => msg.includes('runs beside it'))).toBe(true);
  const throughAgain = new Clients(load, again);
  await Clients.more(throughNext, throughAgain);
  await load.switchEncryption([again, next]);
  const workerId = workerIdOf(again);
  const isDelivering = () => (load.webhook.deliveredBy.get(workerId)?.size ?? 0) >= 3;
  await Clients.waitFor([throughNext, throughAgain], isDelivering, 'the process that started again to deliver');

  await throughAgain.leave();
  expect((await again.jobferry.kill('SIGTERM')).code).toBe(0);
  throughNext.stopPublishing();
  await Clients.waitFor([throughNext], async () => (await load.open()) === 0, 'all jobs to end');
  await throughNext.leave();
  expect.soft(await load.wrongJobs()).toEqual([]);
  expect.soft(load.expectedJobs).toBeGreaterThan(500);
  const logs = [present, next, again].flatMap(({ jobferry }) => jobferry.logs);
  expect(logs.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  await load.webhook.close();
});
