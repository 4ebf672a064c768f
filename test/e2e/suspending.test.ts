import { beforeAll, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { openCommands } from '../support/operator.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** An account that the operator suspends by the command line, while other processes serve it. */

let cluster: Cluster;
let operator: ReturnType<typeof openCommands>;

beforeAll(async () => {
  cluster = await startCluster({ apis: 1, workers: 1 });
  operator = openCommands(cluster.databaseUrl);
});

async function newAccount(): Promise<{ id: string; key: string; client: Api }> {
  const { id, key } = await createAccount(cluster.databaseUrl);
  return { id, key, client: createApi(cluster.apiProcesses[0]?.baseUrl ?? '', key) };
}

it('publishes nothing and delivers nothing, takes reports, and goes on after it is resumed', async () => {
  const { id, key, client } = await newAccount();
  const receiver = await openReceiver({ status: 202 });
  const queue = await client.createQueue({ webhookUrl: receiver.url, mode: 'ack', concurrency: 1, backoffDelay: 0 });
  const first = await client.publish(queue.name);
  await client.waitForStatus(first.id, 'awaiting_ack');
  const second = await client.publish(queue.name);
  const own = await client.createQueue({ webhookUrl: receiver.url });
  const graphql = createGraphQLClient(cluster.apiProcesses[0]?.baseUrl ?? '', key);
  const pause = (queueId: string) =>
    graphql.query('mutation ($id: ID!) { pauseQueue(id: $id) { __typename } }', { id: queueId });
  await pause(own.id);

  expect(await operator.json('account', 'suspend', id)).toEqual({ id, changed: true, queues: 1 });
  const publish = () => client.call('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} });
  await waitFor(async () => (await publish()).status === 403);
  expect((await publish()).body).toEqual({ error: expect.stringContaining('this account is suspended') });
  expect((await client.call('POST', '/v1/queues', { name: 'more', webhookUrl: receiver.url })).status).toBe(403);
  const resumed = await graphql.send(`mutation { resumeQueue(id: "${queue.id}") { __typename } }`);
  expect(resumed).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
  await expect(operator.run('queue', 'resume', queue.id)).rejects.toThrow('is suspended, so its queues stay paused');
  expect((await graphql.query('{ account { isSuspended } }')).account).toEqual({ isSuspended: true });

  expect((await client.call('POST', `/v1/jobs/${first.id}/ack`)).status).toBe(200);
  // A job of another account that is published now is delivered, so the worker had its turn.
  const other = createApi(cluster.apiProcesses[0]?.baseUrl ?? '', (await createAccount(cluster.databaseUrl)).key);
  const beside = await other.createQueue({ webhookUrl: receiver.url });
  await other.waitForStatus((await other.publish(beside.name)).id, 'completed');
  expect(await client.getJob(second.id)).toMatchObject({ status: 'pending', attempts: 0 });

  expect(await operator.json('account', 'suspend', id)).toEqual({ id, changed: false, queues: 0 });
  expect(await operator.json('account', 'resume', id)).toEqual({ id, changed: true, queues: 1 });
  await client.waitForStatus(second.id, 'awaiting_ack');
  await waitFor(async () => (await publish()).status === 201);
  expect(await operator.text('account', 'resume', id)).toMatch(/is already active\. Queues resumed: 0\.$/);
  expect(await operator.text('queue', 'show', own.id), 'its own pause').toMatch(/^state +paused$/m);
  const audited = await cluster.query(
    `select action from audit_entry where account_id = $1 and action like 'account.%'`,
    [id],
  );
  expect(audited).toEqual([{ action: 'account.suspend' }, { action: 'account.resume' }]);
});

it('continues where an interrupted suspension and resumption ended', async () => {
  const { id, client } = await newAccount();
  const queue = await client.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
  await cluster.query(`update account set suspended_at = now(), suspended_by = 'operator' where id = $1`, [id]);
  expect(await operator.json('account', 'suspend', id)).toEqual({ id, changed: false, queues: 1 });
  expect(await operator.text('account', 'show', id)).toMatch(/^suspended by +operator$/m);
  await cluster.query(`update account set suspended_at = null, suspended_by = null where id = $1`, [id]);
  expect(await operator.text('queue', 'show', queue.id)).toMatch(/^paused by +operator \(account suspended\)$/m);
  expect(await operator.json('account', 'resume', id)).toEqual({ id, changed: false, queues: 1 });
});

it('limits the requests of one account within a second, and no others', async () => {
  const [loud, other] = [await newAccount(), await newAccount()];
  const list = async ({ client }: { client: Api }) => (await client.call('GET', '/v1/queues')).status;
  const burst = (who: { client: Api }) => Promise.all(Array.from({ length: 20 }, () => list(who)));
  expect(new Set(await burst(loud))).toEqual(new Set([200]));
  await operator.json('account', 'set-limits', loud.id, '--requests-per-second', '1');
  await waitFor(async () => (await burst(loud)).includes(429));
  expect(new Set(await burst(other))).toEqual(new Set([200]));
  await operator.json('account', 'set-limits', loud.id, '--requests-per-second', 'default');
  await waitFor(async () => !(await burst(loud)).includes(429));
});
