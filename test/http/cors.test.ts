import { describe, expect, it } from 'vitest';
import { type Sent, testApi } from '../support/fake-api.ts';
import { KEY } from '../support/fake-services.ts';
import { fakeSignIn } from '../support/fake-sign-in.ts';

const APP = 'https://app.example.com';
const shared = (corsOrigins: string[] = [APP]) => testApi({ config: { corsOrigins }, signIn: fakeSignIn() });

function permissionsOf(headers: object): Record<string, unknown> {
  const entries = Object.entries(headers).filter(([name]) => name.startsWith('access-control-'));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice('access-control-'.length), value]));
}

describe('a page of a listed origin', () => {
  it('may call the API, and read the request id of the answer', async () => {
    const answer = await (await shared()).send('GET', '/v1/queues', { headers: { origin: APP } });
    expect(answer).toMatchObject({ status: 200, headers: { vary: 'origin' } });
    const permissions = {
      'allow-origin': APP,
      'expose-headers': 'x-request-id, retry-after, x-jobferry-ignored, x-jobferry-payload, x-jobferry-warning',
    };
    expect(permissionsOf(answer.headers)).toEqual(permissions);
  });

  it('can read a refusal', async () => {
    const headers = { origin: APP, authorization: undefined };
    const answer = await (await shared()).send('GET', '/v1/queues', { headers });
    expect(answer.status).toBe(401);
    expect(permissionsOf(answer.headers)).toMatchObject({ 'allow-origin': APP });
  });

  it.each(['/v1/queues', '/graphql', '/openapi.json?x'])('may ask for %s before, without a key', async (path) => {
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
    const headers = { origin: APP, authorization: undefined, ...asked };
    const api = await shared();
    const answer = await api.send('OPTIONS', path, { headers });
    expect(answer.status).toBe(204);
    expect(permissionsOf(answer.headers)).toEqual({
      'allow-origin': APP,
      'allow-methods': 'GET, POST, PUT, DELETE',
      'allow-headers': 'authorization, content-type, x-request-id, traceparent, tracestate, jobferry-read-from',
      'max-age': '600',
    });
    expect(api.calls).toEqual([]);
  });

  it.each(['/session', '/', '/healthz', '/docs', '/graphqlx', '/v1'])('may not use %s', async (path) => {
    const answer = await (await shared()).send('OPTIONS', path, {
      headers: { origin: APP, 'access-control-request-method': 'POST' },
    });
    expect(permissionsOf(answer.headers)).toEqual({});
  });
});

describe('no permission is given', () => {
  const preflight = { 'access-control-request-method': 'POST' };
  it.each<[name: string, method: string, headers: Sent['headers'], origins: string[]]>([
    ['to another origin', 'GET', { origin: 'https://app.example.com.evil.example' }, [APP]],
    ['to another origin that asks before', 'OPTIONS', { origin: 'https://evil.example', ...preflight }, [APP]],
    ['to a page without an origin', 'GET', { origin: 'null' }, [APP]],
    ['without CORS_ORIGINS', 'GET', { origin: APP }, []],
  ])('no permission is given %s', async (_name, method, headers, origins) => {
    const api = await shared(origins);
    const answer = await api.send(method, '/v1/queues', { headers: { authorization: `Bearer ${KEY}`, ...headers } });
    expect(permissionsOf(answer.headers)).toEqual({});
    expect(answer.headers.vary).toBe(origins.length === 0 ? undefined : 'origin');
    if (method === 'OPTIONS') expect(answer.status).toBe(404);
  });
});
