import { describe, expect, it } from 'vitest';
import { type Api, testApi } from '../support/fake-api.ts';
import { ID, KEY } from '../support/fake-services.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const idFor = async (api: Api, given: string | string[] | undefined) =>
  (await api.send('GET', '/v1/queues', { headers: { 'x-request-id': given } })).headers['x-request-id'];

describe('the request id', () => {
  it.each(['a', 'req-1.2:3/4+5=6@7_8', 'x'.repeat(128)])('%s comes back', async (id) => {
    expect(await idFor(await testApi(), id)).toBe(id);
  });

  it.each<[name: string, given: string | string[] | undefined]>([
    ['is missing', undefined],
    ['is empty', ''],
    ['is too long', 'x'.repeat(129)],
    ['has a blank', 'one two'],
    ['has what a log or terminal would act on', 'a"\u00e9'],
    ['is given twice', ['one', 'two']],
  ])('a request id that %s is replaced', async (_name, given) => {
    const api = await testApi();
    const id = await idFor(api, given);
    expect(id).toMatch(UUID);
    expect(await idFor(api, given)).not.toBe(id);
  });

  it.each([
    ['an unknown path', 'GET', '/nothing', 404, {}],
    ['a request without a key', 'GET', '/v1/queues', 401, { authorization: undefined }],
    ['an unknown expectation', 'GET', '/v1/queues', 417, { expect: 'x', connection: 'close' }],
    ['health', 'GET', '/healthz', 200, {}],
    ['the document', 'GET', '/openapi.json', 200, {}],
  ])('is in the answer to %s', async (_name, method, path, status, headers) => {
    const answer = await (await testApi()).send(method, path, { headers: { 'x-request-id': 'mine', ...headers } });
    expect({ status: answer.status, id: answer.headers['x-request-id'] }).toEqual({ status, id: 'mine' });
  });

  it('is in the log of a failure', async () => {
    const fail = async () => {
      throw new Error('a mistake');
    };
    const api = await testApi({ services: { queues: { get: fail } } });
    await api.send('GET', `/v1/queues/${ID}`, { headers: { 'x-request-id': 'mine' } });
    expect(api.logged).toMatchObject([{ message: 'request failed', fields: { requestId: 'mine' } }]);
    expect(JSON.stringify(api.logged)).not.toContain(KEY);
  });
});
