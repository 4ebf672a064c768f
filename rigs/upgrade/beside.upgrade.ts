import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../test/support/database.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { KEY, startBuild, workerIdOf } from './build.ts';
import { Clients } from './clients.ts';
import { buildEarlier, type EarlierBuild, earlierCommit, presentVersions } from './earlier-build.ts';
import { Load } from './load.ts';

/** A rolling upgrade: processes of an earlier commit and of this one on one database, under load. */

const commit = await earlierCommit();

describe.skipIf(commit === null)(`an earlier build (${commit?.slice(0, 10)}) beside the present one`, () => {
  let earlier: EarlierBuild;
  beforeAll(async () => {
    earlier = await buildEarlier(commit ?? '');
  });
  afterAll(() => earlier?.remove());

  it('has versions of the functions that this build has left as they were', async () => {
    const present = await presentVersions();
    expect(earlier.versions).not.toEqual([]);
    expect(present.slice(0, earlier.versions.length)).toEqual(earlier.versions);
  });

  it('loses no job and ends none wrongly while the upgrade goes on', async () => {
    const { url: databaseUrl } = await createTestDatabase({ empty: true });
    const env = { BOOTSTRAP_API_KEY: KEY, ENCRYPTION_KEY: randomBytes(32).toString('base64') };
    const old = await startBuild({ databaseUrl, env, main: earlier.main });
    const load = await Load.open(databaseUrl, old);

    const throughOld = new Clients(load, old);
    await Clients.more(throughOld);
    await load.switchEncryption([old]);
    // The earlier build runs this action with its own functions, then with those of this build, which takes it over.
    const actionId = await load.startBulkReplay(old, 100);
    const isTaken = () => old.jobferry.logs.some((line) => line.actionId === actionId);
    await Clients.waitFor([throughOld], isTaken, 'the earlier build to take the bulk replay');

    // For a while, the only workers are of the earlier build.
    const presentApi = await startBuild({ databaseUrl, env, role: 'api' });
    await load.startLaterActions(presentApi, 10);
    const present = await startBuild({ databaseUrl, env });
    const both = [old, present];
    const throughPresent = new Clients(load, present);
    await load.switchEncryption(both);
    await load.switchEncryption([present, old]);
    await waitFor(() => load.replayOne(both), { message: 'a dead letter' });
    await load.startBulkCancel(old, both, 20);
    await Clients.more(throughOld, throughPresent);
    for (const workerId of both.map(workerIdOf)) {
      const isDelivered = (queue: string) => load.webhook.deliveredBy.get(workerId)?.has(queue) === true;
      const all = () => ['acked', 'dying', 'encrypted', 'keyed', 'plain'].every(isDelivered);
      await Clients.waitFor([throughOld, throughPresent], all, `worker ${workerId} to deliver jobs of all queues`);
    }
    expect((await fetch(`${old.jobferry.baseUrl}/readyz`)).status).toBe(200);

    await throughOld.leave();
    expect((await old.jobferry.kill('SIGTERM')).code).toBe(0);
    await Clients.more(throughPresent);
    await load.switchEncryption([present]);
    throughPresent.stopPublishing();
    await Clients.waitFor([throughPresent], async () => (await load.open()) === 0, 'all jobs to end');
    await throughPresent.leave();

    expect.soft(await load.wrongJobs()).toEqual([]);
    expect.soft(await load.wrongActions()).toEqual([]);
    expect.soft(load.expectedJobs).toBeGreaterThan(1000);
    const logs = [old, presentApi, present].flatMap(({ jobferry }) => jobferry.logs);
    expect(logs.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
    await load.webhook.close();
  });
});
