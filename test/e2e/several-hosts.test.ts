import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServerPair, startServerPair } from '../../rigs/chaos/server-pair.ts';
import { type Api, createApi } from '../support/api.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** A process whose DATABASE_URL names a primary and its standby: it finds the primary by itself, and stays with it. */

const KEY = 'key-of-the-bootstrap-account';

describe.skipIf(hasGivenServer)('several hosts', () => {
  let pair: ServerPair;
  let jobferry: Jobferry;
  let api: Api;
  let former: string;

  beforeAll(async () => {
    pair = await startServerPair();
    // The standby first.
    former = new URL(pair.url).host;
    const url = pair.standbyUrl.replace(/(@127\.0\.0\.1:\d+)/, `$1,${former}`);
    const databaseUrl = `${url}?target_session_attrs=read-write`;
    jobferry = await startJobferry({ databaseUrl, env: { BOOTSTRAP_API_KEY: KEY } });
    api = createApi(jobferry.baseUrl, KEY);
  });
  afterAll(async () => {
    await jobferry?.kill('SIGKILL');
    await pair?.stop();
  });

  const health = async () =>
    (await fetch(`${jobferry.baseUrl}/readyz`)).json() as Promise<{ checks: { database: string } }>;

  it('lead to the primary, and to the promoted standby though the former primary takes writes again', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    await api.publish(queue.name);
    await receiver.waitFor(1);

    const promoted = new URL(pair.standbyUrl).host;
    await pair.failOver({ keepOld: true });
    const moved = await waitFor(() => jobferry.logs.find((line) => line.to === promoted), { message: 'the line' });
    expect(moved).toMatchObject({ level: 'warn', from: former, to: promoted });
    expect(moved.msg).toBe('another server of the database URL is the primary now');
    const beside = 'a former primary of the database URL takes writes: it is not used';
    const besides = await waitFor(() => jobferry.logs.find(({ msg }) => msg === beside), { message: beside });
    expect(besides).toMatchObject({ server: former, timeline: 1, primary: promoted });
    const path = `/v1/queues/${queue.name}/jobs`;
    const published = await waitFor(
      async () => {
        const { status, body } = await api.call<{ id: string }>('POST', path, { payload: {} });
        return status === 201 && body;
      },
      { message: 'a publish' },
    );
    await receiver.waitFor((requests) => requests.some((request) => request.json().id === published.id));
    await api.waitForStatus(published.id, 'completed');
    await waitFor(async () => (await fetch(`${jobferry.baseUrl}/readyz`)).ok, { message: 'readiness' });
    const past = new pg.Client({ connectionString: pair.past?.url });
    await past.connect();
    const found = await past.query('select from job where id = $1', [published.id]);
    await past.end();
    expect(found.rowCount).toBe(0);
  });

  it('are named as unusable when none is a primary', async () => {
    await pair.stop();
    const problem = /^none of 2 servers is a primary: 0 standby, 2 not reachable; looking for one for \d+ s$/;
    await waitFor(async () => problem.test((await health()).checks.database), { message: 'the reason in /readyz' });
    const line = await waitFor(() =>
      jobferry.logs.find(({ msg }) => msg === 'no server of the database URL is a primary'),
    );
    expect(Object.keys(line.servers as object)).toContain(former);
    const { status } = await api.call('POST', '/v1/queues', { name: 'x', webhookUrl: 'http://127.0.0.1:9/' });
    expect(status).toBe(503);
  });
});
