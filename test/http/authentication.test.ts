import { describe, expect, it } from 'vitest';
import { unavailable } from '../../src/domain/errors.ts';
import { testApi } from '../support/fake-api.ts';
import { account, ID, KEY } from '../support/fake-services.ts';

const ROUTES: [method: string, path: string][] = [
  ['GET', '/v1/queues'],
  ['POST', '/v1/queues'],
  ['GET', `/v1/queues/${ID}`],
  ['PUT', `/v1/queues/${ID}`],
  ['DELETE', `/v1/queues/${ID}`],
  ['GET', `/v1/queues/${ID}/jobs`],
  ['GET', `/v1/queues/${ID}/dlq`],
  ['POST', `/v1/queues/${ID}/dlq/${ID}/replay`],
  ['POST', `/v1/queues/${ID}/dlq/replay`],
  ['POST', '/v1/queues/mails/jobs'],
  ['GET', `/v1/jobs/${ID}`],
  ['POST', `/v1/jobs/${ID}/ack`],
  ['POST', `/v1/jobs/${ID}/nack`],
  ['POST', `/v1/jobs/${ID}/defer`],
];
const unauthorized = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer', 'content-type': 'application/json; charset=utf-8' },
  json: { error: 'missing or invalid API key' },
};

describe('authentication', () => {
  it.each(ROUTES)('is required by %s %s, before the body is read', async (method, path) => {
    const api = await testApi();
    const headers = { authorization: undefined, 'content-type': 'text/plain' };
    expect(await api.send(method, path, { headers, body: '{' })).toMatchObject(unauthorized);
    expect(api.calls).toEqual([]);
  });

  it.each<[name: string, value: string | undefined]>([
    ['H41 none', undefined],
    ['H42 another scheme', `Basic ${KEY}`],
    ['H43 no key', 'Bearer'],
    ['H43 an empty key', 'Bearer '],
    ['two spaces', `Bearer  ${KEY}`],
    ['two words', `Bearer ${KEY} ${KEY}`],
    ['no scheme', KEY],
    ['H48 8 kB', `Bearer ${'x'.repeat(8192)}`],
    ['301 characters', `Bearer ${'x'.repeat(301)}`],
    ['H49 not ASCII', 'Bearer kéy'],
    ['a tab', `Bearer\t${KEY}`],
  ])('is refused without a query: %s', async (_name, authorization) => {
    const api = await testApi();
    expect(await api.send('GET', '/v1/queues', { headers: { authorization } })).toMatchObject(unauthorized);
    expect(api.calls).toEqual([]);
  });

  it('H46 is refused when the key is unknown', async () => {
    const api = await testApi();
    expect(await api.send('GET', '/v1/queues', { headers: { authorization: 'Bearer unknown' } })).toMatchObject(
      unauthorized,
    );
    expect(api.calls).toEqual([{ method: 'accounts.authenticate', args: ['unknown'] }]);
  });

  it('H50 is not read from the query', async () => {
    const api = await testApi();
    const path = `/v1/queues?access_token=${KEY}&authorization=Bearer%20${KEY}`;
    expect(await api.send('GET', path, { headers: { authorization: undefined } })).toMatchObject(unauthorized);
  });

  it.each([
    ['good, then bad', [`Bearer ${KEY}`, 'Bearer unknown'], 200],
    ['bad, then good', ['Bearer unknown', `Bearer ${KEY}`], 401],
  ])('H51 is decided by the first of two headers: %s', async (_name, [first, second], status) => {
    const api = await testApi();
    const { received } = api.raw(
      `GET /v1/queues HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${first}\r\nAuthorization: ${second}\r\n\r\n`,
    );
    expect(await received).toContain(`HTTP/1.1 ${status} `);
  });

  it.each(['bearer', 'BEARER'])('H52 takes the scheme as %s', async (scheme) => {
    const api = await testApi();
    expect((await api.send('GET', '/v1/queues', { headers: { authorization: `${scheme} ${KEY}` } })).status).toBe(200);
  });

  it('answers 503 when it cannot be decided', async () => {
    const authenticate = () => Promise.reject(unavailable('the database does not answer', 'nothing'));
    const api = await testApi({ services: { accounts: { authenticate } } });
    expect(await api.send('GET', '/v1/queues')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      json: { error: 'the database does not answer' },
    });
  });

  /** A read that takes 150 ms, after which look-ups of the key end as `later` says. */
  const slowRead = (later: () => Promise<typeof account | null>) => {
    let isLater = false;
    return testApi({
      services: {
        accounts: { authenticate: async () => (isLater ? later() : account) },
        queues: {
          list: async () => {
            isLater = true;
            await new Promise((resolve) => setTimeout(resolve, 150));
            return [];
          },
        },
      },
    });
  };

  it('checks the key again before an answer that took long: it may be revoked by then (I-45)', async () => {
    const api = await slowRead(async () => null);
    expect(await api.send('GET', '/v1/queues')).toMatchObject(unauthorized);
  });

  it.each([
    ['fails', () => Promise.reject(unavailable('the database does not answer', 'nothing'))],
    ['takes long', () => new Promise<never>(() => undefined)],
  ])('sends no data if the second check of the key %s', async (_how, later) => {
    const api = await slowRead(later);
    expect(await api.send('GET', '/v1/queues')).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  });

  it('counts from the query for the key, whose result may come late: it was read before', async () => {
    const looks = [account, null];
    const authenticate = async () => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      return looks.shift() ?? null;
    };
    const api = await testApi({ services: { accounts: { authenticate }, queues: { list: async () => [] } } });
    expect(await api.send('GET', '/v1/queues')).toMatchObject(unauthorized);
  });
});
