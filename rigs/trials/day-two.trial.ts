import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createAccount } from '../../test/support/account.ts';
import { createApi } from '../../test/support/api.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { createGraphQLClient } from '../../test/support/graphql.ts';
import { openCommands } from '../../test/support/operator.ts';
import { startJobferry } from '../../test/support/process.ts';
import { openReceiver } from '../../test/support/service.ts';
import { openServices } from '../../test/support/services.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { report } from './report.ts';

/** Trial 8: what an operator does on a usual day. */

it('trial 8: accounts are listed, changed, suspended and deleted by commands, and a hold is ended', async () => {
  const { url: databaseUrl } = await createTestDatabase();
  const jobferry = await startJobferry({ databaseUrl, env: { BOOTSTRAP_API_KEY: 'key-of-the-bootstrap-account' } });
  const operator = openCommands(databaseUrl);
  const { id, key } = await createAccount(databaseUrl);
  const api = createApi(jobferry.baseUrl, key);
  const { db, auditOf } = openServices(databaseUrl);
  const receiver = await openReceiver({ status: 202 });

  const listed = await operator.json<object[]>('account', 'list');
  await operator.run('account', 'set-plan', id, '--plan', 'free');
  const audited = (await auditOf(id)).map(({ action }) => action);

  await db.query(`update account set plan = 'gold' where id = $1`, [id]);
  await sleep(1500); // how long a process may remember a plan
  const settings = { name: 'q', webhookUrl: receiver.url, mode: 'ack', concurrency: 1 };
  const queue = await api.call<{ id: string }>('POST', '/v1/queues', settings);
  const graphql = await createGraphQLClient(jobferry.baseUrl, key).send('{ account { id } }');
  await operator.run('account', 'set-plan', id, '--plan', 'pro');
  await sleep(1500);

  // The first one asks for a hold of the whole queue, for an hour.
  const jobs: string[] = [];
  for (let n = 0; n < 4; n += 1) jobs.push((await api.publish('q')).id);
  await api.waitForStatus(jobs[0] ?? '', 'awaiting_ack');
  await api.call('POST', `/v1/jobs/${jobs[0]}/defer`, { retryAfter: 3600, scope: 'queue' });
  await api.updateQueue(queue.body.id, { mode: 'standard' });
  await operator.run('queue', 'release-hold', queue.body.id);
  const isOver = async () => (await api.listJobs(queue.body.id, '?status=completed')).total === jobs.length;
  await waitFor(isOver).catch(() => undefined);
  const delivered = (await api.listJobs(queue.body.id, '?status=completed')).total;

  await operator.run('account', 'suspend', id);
  const refused = await waitFor(async () => {
    const { status } = await api.call('POST', '/v1/queues/q/jobs', { payload: {} });
    return status === 403 ? status : null;
  });
  const receipt = await operator.json<{ removed: object }>('account', 'delete', id, '--confirm', 'another');
  const left = await db.query('select from job where account_id = $1', [id]);
  const found = {
    accountsListed: listed.length,
    audited,
    withUnknownPlan: { newQueue: queue.status, graphql: graphql.status },
    hold: { jobs: jobs.length, deliveredAfterRelease: delivered },
    publishWhileSuspended: refused,
    removed: receipt.removed,
    jobsLeft: left.length,
  };
  await report('8 accounts and holds', found);
  expect(found).toMatchObject({ hold: { deliveredAfterRelease: 4 }, publishWhileSuspended: 403, jobsLeft: 0 });
  expect(audited).toContain('account.set_plan');
});

it('trial 8: /readyz from one client, as fast as it can, beside publishes', async () => {
  const { url: databaseUrl } = await createTestDatabase();
  const { key } = await createAccount(databaseUrl);
  const jobferry = await startJobferry({ databaseUrl, role: 'api' });
  const api = createApi(jobferry.baseUrl, key);
  await api.createQueue({ name: 'q', webhookUrl: 'http://127.0.0.1:9/' });
  const measured = async () => {
    const took: number[] = [];
    for (let n = 0; n < 200; n += 1) {
      const from = performance.now();
      await api.publish('q');
      took.push(performance.now() - from);
    }
    took.sort((one, other) => one - other);
    const at = (share: number) => Number((took[Math.floor(took.length * share)] ?? 0).toFixed(1));
    return { p50: at(0.5), p99: at(0.99) };
  };
  const alone = await measured();
  let isOver = false;
  let requests = 0;
  const from = performance.now();
  const flood = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await fetch(`${jobferry.baseUrl}/readyz`).then((answer) => answer.arrayBuffer());
      requests += 1;
    }
  });
  const beside = await measured();
  isOver = true;
  await Promise.all(flood);
  const perSecond = Math.round((requests * 1000) / (performance.now() - from));
  await report('8 a flood of /readyz', { publishMs: { alone, beside }, readyzPerSecond: perSecond });
  expect(requests).toBeGreaterThan(0);
});
