import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { type CommandResult, runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { refusal } from '../support/shapes.ts';
import { startTcpRelay } from '../support/tcp-relay.ts';

/** A start that fails logs the reason in one line for the operator; roles share one database. */

let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = (await createTestDatabase()).url;
});

async function onDatabase(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** It ended by itself with 1, and logged the reason without a stack. */
function expectRefused(result: CommandResult, said: RegExp): void {
  expect(result.code).toBe(1);
  expect(result.stdout).toBe('');
  expect(result.stderr).toMatch(said);
  expect(result.stderr).toMatch(/^jobferry: /m);
  expect(result.stderr).not.toMatch(/^\s+at /m);
}

describe.concurrent('a wrong variable', () => {
  it.each<[variables: Record<string, string>, named: RegExp]>([
    [{ PORT: '65536' }, /^jobferry: PORT: /m],
    [{ ROLE: 'boss' }, /^jobferry: ROLE: /m],
    [
      { DATABASE_URL: 'mysql://secret-user:secret-word@127.0.0.1/' },
      /^jobferry: DATABASE_URL: must start with postgres/m,
    ],
    [{ WEBHOOK_ALLOW_CIDRS: '127.0.0.1' }, /^jobferry: WEBHOOK_ALLOW_CIDRS: /m],
    [{ PLANS: '{"free":{"queues":-1}}' }, /^jobferry: PLANS[.\w]*: /m],
    [{ BOOTSTRAP_API_KEY: 'a secret key' }, /^jobferry: BOOTSTRAP_API_KEY: /m],
    [{ PORT: 'x', LOG_LEVEL: 'loud', MAX_BODY_BYTES: '0' }, /PORT: [\s\S]*MAX_BODY_BYTES: [\s\S]*LOG_LEVEL: /m],
  ])('%j stops the start and is named, not repeated', async (variables, named) => {
    const result = await runJobferry(['serve'], { DATABASE_URL: databaseUrl, ...variables });
    expectRefused(result, named);
    expect(result.stderr).not.toContain('secret');
  });
});

describe.concurrent('a database that will not do', () => {
  it('is named when it cannot be reached, without its password', async () => {
    const relay = await startTcpRelay({ host: '127.0.0.1', port: 1 });
    await relay.cut(); // no server listens on its port any more
    const url = `postgres://someone:secret-word@127.0.0.1:${relay.port}/jobs`;
    for (const command of [['serve'], ['account', 'list'], ['backup', '/nowhere/file'], ['migrate', '--status']]) {
      const result = await runJobferry(command, { DATABASE_URL: url });
      expectRefused(result, /DATABASE_URL cannot be reached: /);
      expect(result.stderr).not.toContain('secret-word');
    }
  });

  it('is refused when a commit could be lost, unless the operator wants that', async () => {
    const { url } = await createTestDatabase();
    await onDatabase(url, `alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`);
    expectRefused(await runJobferry(['serve'], { DATABASE_URL: url }), /synchronous_commit off/);
    const jobferry = await startJobferry({ databaseUrl: url, env: { ALLOW_UNSAFE_DURABILITY: '1' } });
    expect(jobferry.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await jobferry.kill('SIGKILL');
  });

  it('is refused when a later version has migrated it', async () => {
    const { url } = await createTestDatabase();
    await onDatabase(
      url,
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
       values ('later', 'x', '99991231235959_later', now(), 1)`,
    );
    const said = /migrated by a later version of Jobferry \(99991231235959_later\)/;
    expectRefused(await runJobferry(['serve'], { DATABASE_URL: url }), said);
    expectRefused(await runJobferry(['migrate'], { DATABASE_URL: url }), said);
  });

  it('is refused when it belongs to something else', async () => {
    const { url } = await createTestDatabase({ empty: true });
    await onDatabase(url, 'create table something (id integer)');
    expectRefused(await runJobferry(['serve'], { DATABASE_URL: url }), /tables of something else/);
  });
});

describe.concurrent('the roles', () => {
  it('share the work: one process takes jobs, the other delivers them', async () => {
    const env = { BOOTSTRAP_API_KEY: 'key-of-the-bootstrap-account' };
    const front = await startJobferry({ databaseUrl, role: 'api', env });
    const back = await startJobferry({ databaseUrl, role: 'worker', env });
    const api = createApi(front.baseUrl, env.BOOTSTRAP_API_KEY);
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { id } = await api.publish(queue.name);
    await api.waitForStatus(id, 'completed');

    const ready = async (baseUrl: string) => (await fetch(`${baseUrl}/readyz`)).json();
    expect(await ready(front.baseUrl)).toEqual({
      status: 'ready',
      checks: { database: 'ok', schema: 'ok', publishes: 'ok' },
    });
    expect(await ready(back.baseUrl)).toMatchObject({ status: 'ready', checks: { database: 'ok', worker: 'ok' } });
    // The API is not here at all, and neither is its documentation.
    const headers = { authorization: `Bearer ${env.BOOTSTRAP_API_KEY}` };
    for (const path of ['/v1/queues', '/openapi.json', '/docs']) {
      const answer = await fetch(`${back.baseUrl}${path}`, { headers });
      expect([answer.status, await answer.json()], path).toEqual([404, refusal]);
      const shown = await fetch(`${front.baseUrl}${path}`, { headers });
      expect([shown.status, await shown.text()], path).toEqual([200, expect.any(String)]);
    }
    expect((await fetch(`${back.baseUrl}/healthz`)).status).toBe(200);

    // Both end on their signal, with no delivery open.
    const exits = await Promise.all([front.kill('SIGTERM'), back.kill('SIGTERM')]);
    expect(exits).toEqual(Array(2).fill({ code: 0, signal: null }));
  });
});

describe('in production', () => {
  it('no secret is printed: the output goes to a log that many people can read', async () => {
    const { url } = await createTestDatabase();
    const env = { NODE_ENV: 'production', HOST: '127.0.0.1' };
    const { output, logs } = await startJobferry({ databaseUrl: url, env });
    const said = [...output, ...logs.map((line) => JSON.stringify(line))].join('\n');
    expect(said).toContain('The first account was created. In production its API key is not printed');
    expect(said).not.toMatch(/jfl?_\w{20}/);
  });
});
