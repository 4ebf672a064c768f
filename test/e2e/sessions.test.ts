import { beforeAll, describe, expect, it } from 'vitest';
import { type BrowserSession, sessionHeaders, signIn } from '../support/browser-session.ts';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { createGraphQLClient, type GraphQL, openSubscription } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import { OIDC_ENV } from '../support/members.ts';
import { type Jobferry, type Running, startJobferry } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';

/** A session counts in every process, and ends in every process within a second. */

const API_KEY = 'key-of-the-bootstrap-account';
let databaseUrl: string;
let one: Jobferry;
let other: Running;
let graphql: GraphQL;

beforeAll(async () => {
  databaseUrl = (await createTestDatabase()).url;
  const env = { BOOTSTRAP_API_KEY: API_KEY };
  [one, other] = await Promise.all([
    startJobferry({ databaseUrl, role: 'api', env }),
    startInProcess({ databaseUrl, role: 'api', env }),
  ]);
  graphql = createGraphQLClient(one.baseUrl, API_KEY);
});

/** The browser knows two servers behind one address as one; here their ports tell their cookies apart. */
function at({ baseUrl }: Running, { cookie }: BrowserSession): BrowserSession {
  return sessionHeaders(baseUrl, `jobferry-${new URL(baseUrl).port}=${cookie.split('=')[1]}`);
}

async function ask({ baseUrl }: Running, { headers }: BrowserSession, query = '{ account { name } }') {
  const response = await fetch(`${baseUrl}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
  return { status: response.status, body: (await response.json()) as { data?: unknown; error?: string } };
}

const STATS = 'subscription { queueStats(everySeconds: 1) { queues { name } } }';

it('is one in every process, and ends in every process and stream within a second', async () => {
  const session = await signIn(one.baseUrl, { apiKey: API_KEY });
  const there = at(other, session);
  expect(await ask(other, there)).toMatchObject({ status: 200, body: { data: { account: { name: 'default' } } } });
  const stream = openSubscription(`${other.baseUrl}/graphql`, there.headers, JSON.stringify({ query: STATS }));
  await stream.next();

  const { status } = await fetch(`${one.baseUrl}/session`, { method: 'DELETE', headers: session.headers });
  expect(status).toBe(204);
  expect(await ask(one, session)).toEqual({ status: 401, body: { error: 'the session has ended: sign in' } });
  await waitFor(async () => (await ask(other, there)).status === 401);
  await expect(readAll(stream)).rejects.toThrow(/the session has ended|terminated|the stream has ended/);
});

async function readAll(stream: { next(): Promise<{ errors?: { message: string }[] }> }): Promise<never> {
  for (;;) {
    const { errors } = await stream.next();
    if (errors !== undefined) throw new Error(errors[0]?.message);
  }
}

it('ends when its API key is revoked', async () => {
  const made = await graphql.query('mutation { createApiKey { ... on CreateApiKeyPayload { key apiKey { id } } } }');
  const { key, apiKey } = made.createApiKey;
  const there = at(other, await signIn(one.baseUrl, { apiKey: key }));
  expect((await ask(other, there)).status).toBe(200);
  await graphql.query(`mutation { revokeApiKey(id: "${apiKey.id}") { ... on RevokeApiKeyPayload { id } } }`);
  await waitFor(async () => (await ask(other, there)).status === 401);
});

it('starts from a link of the command line, as the operator', async () => {
  const { code, stdout } = await runJobferry(['sign-in-link', '--json'], {
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: 'https://jobs.example.com',
  });
  expect(code).toBe(0);
  const { link } = JSON.parse(stdout) as { link: string };
  expect(link).toMatch(/^https:\/\/jobs\.example\.com\/sign-in#jfl_/);
  const session = await signIn(one.baseUrl, { link: new URL(link).hash.slice(1) });
  expect((await ask(one, session, '{ me { label apiKeyId } }')).body).toEqual({
    data: { me: { label: 'operator', apiKeyId: null } },
  });
  await expect(signIn(other.baseUrl, { link: new URL(link).hash.slice(1) })).rejects.toThrow('answered 401');
});

it('has no link while people sign in with a provider only', async () => {
  const { code, stdout, stderr } = await runJobferry(['sign-in-link'], {
    ...OIDC_ENV,
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: 'https://jobs.example.com',
    OIDC_ONLY: '1',
  });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('OIDC_ONLY is set, so no link signs in: use the OpenID provider');
});

describe('the start', () => {
  it.each([
    ['development', true],
    ['production', false],
  ])('a start with NODE_ENV=%s prints a link: %s', async (environment, isPrinted) => {
    const jobferry = await startJobferry({ databaseUrl, env: { NODE_ENV: environment } });
    const [link] = /http:\/\/\S+\/sign-in#jfl_\S+/.exec(jobferry.output.join('\n')) ?? [];
    if (isPrinted) await signIn(jobferry.baseUrl, { link: new URL(link ?? '').hash.slice(1) });
    else expect(link).toBeUndefined();
    const page = await fetch(`${jobferry.baseUrl}/jobs`, { headers: { accept: 'text/html' } });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<base href="/">')]);
    await jobferry.kill();
  });
});

it('stores nothing in the logs', () => {
  // The greeting on stdout has a link on purpose.
  const logged = [...one.logs, ...other.logs].map((line) => JSON.stringify(line));
  logged.push(...one.output.filter((line) => !line.includes('/sign-in#')));
  expect(logged.filter((line) => /jf[sl]_[\w-]{43}/.test(line))).toEqual([]);
});
