import { describe, expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';
import { account, CREATED_AT, ID } from '../support/fake-services.ts';

const message = { status: 400, json: { error: expect.any(String) } };

describe('nack', () => {
  it.each([
    ['{}', { retryable: true, reason: null }],
    ['{"retryable":false}', { retryable: false, reason: null }],
    ['{"retryable":true,"reason":"no","unknown":1}', { retryable: true, reason: 'no' }],
    ['{"reason":""}', { retryable: true, reason: '' }],
  ])('takes %s', async (body, input) => {
    const api = await testApi();
    expect((await api.send('POST', `/v1/jobs/${ID}/nack`, { body })).status).toBe(200);
    expect(api.calls[1]).toEqual({ method: 'jobs.nack', args: [account, ID, input] });
  });

  it.each(['{"retryable":"false"}', '{"retryable":0}', '{"retryable":null}', '{"reason":1}', '{"reason":null}'])(
    'H99 refuses %s',
    async (body) => {
      const api = await testApi();
      expect(await api.send('POST', `/v1/jobs/${ID}/nack`, { body })).toMatchObject(message);
      expect(api.calls.length).toBe(1);
    },
  );
});

describe('defer', () => {
  it.each([
    ['{"retryAfter":0}', { retryAfter: 0, scope: 'queue', reason: null }],
    ['{"retryAfter":1e9,"scope":"job"}', { retryAfter: 1e9, scope: 'job', reason: null }],
    ['{"retryAfter":0.5,"scope":"queue","reason":"busy"}', { retryAfter: 0.5, scope: 'queue', reason: 'busy' }],
  ])('takes %s', async (body, input) => {
    const api = await testApi();
    expect((await api.send('POST', `/v1/jobs/${ID}/defer`, { body })).status).toBe(200);
    expect(api.calls[1]).toEqual({ method: 'jobs.defer', args: [account, ID, input] });
  });

  it.each([
    '{}',
    '{"retryAfter":-1}',
    '{"retryAfter":"5"}',
    '{"retryAfter":1e400}',
    '{"retryAfter":null}',
    '{"retryAfter":1,"scope":"QUEUE"}',
    '{"retryAfter":1,"scope":null}',
  ])('H101-H102 refuses %s', async (body) => {
    const api = await testApi();
    expect(await api.send('POST', `/v1/jobs/${ID}/defer`, { body })).toMatchObject(message);
  });
});

describe.each([
  ['nack', ''],
  ['defer', '"retryAfter":1,'],
])('the reason of %s', (action, members) => {
  it('may have 1000 characters', async () => {
    const api = await testApi();
    const body = `{${members}"reason":"${'x'.repeat(1000)}"}`;
    expect((await api.send('POST', `/v1/jobs/${ID}/${action}`, { body })).status).toBe(200);
  });

  it.each([
    ['1001 characters', `"${'x'.repeat(1001)}"`],
    ['1 MB', `"${'x'.repeat(1e6)}"`],
    ['NUL', '"\\u0000"'],
    ['a lone surrogate', '"\\udc00"'],
    ['an object', '{}'],
  ])('H100 is refused: %s', async (_name, source) => {
    const api = await testApi({ config: { maxBodyBytes: 1 << 20 } });
    expect(
      await api.send('POST', `/v1/jobs/${ID}/${action}`, { body: `{${members}"reason":${source}}` }),
    ).toMatchObject(message);
  });
});

describe('replay', () => {
  it('answers with the new job', async () => {
    const api = await testApi();
    const answer = await api.send('POST', `/v1/queues/${ID}/dlq/${'f'.repeat(24)}/replay`);
    expect(answer).toMatchObject({
      status: 201,
      json: { id: ID, status: 'pending', createdAt: CREATED_AT.toISOString() },
    });
    expect(api.calls[1]).toEqual({ method: 'deadLetters.replay', args: [account, ID, 'f'.repeat(24)] });
  });

  it.each<[name: string, body: string, ids: string[] | 'all']>([
    ['all', '{"all":true}', 'all'],
    ['some ids, repeated or malformed', '{"jobIds":["x","x",""]}', ['x', 'x', '']],
    ['1000 ids', JSON.stringify({ jobIds: Array(1000).fill('x') }), Array(1000).fill('x')],
  ])('H104 takes %s', async (_name, body, ids) => {
    const api = await testApi({ config: { maxBodyBytes: 1 << 20 } });
    const answer = await api.send('POST', `/v1/queues/${ID}/dlq/replay`, { body });
    expect(answer).toMatchObject({
      status: 200,
      json: { replayed: 0, skipped: 0, jobs: [], errors: [], remaining: 0 },
    });
    expect(api.calls[1]).toEqual({ method: 'deadLetters.replayMany', args: [account, ID, ids] });
  });

  it.each([
    '{}',
    '{"all":false}',
    '{"all":"true"}',
    '{"all":null}',
    '{"jobIds":[]}',
    '{"jobIds":"x"}',
    '{"jobIds":[1]}',
    '{"jobIds":[null]}',
    '{"jobIds":["x"],"all":true}',
    '{"jobIds":["x"],"all":false}',
    '{"jobIds":null,"all":true}',
  ])('H104 refuses %s', async (body) => {
    const api = await testApi({ config: { maxBodyBytes: 1 << 20 } });
    expect(await api.send('POST', `/v1/queues/${ID}/dlq/replay`, { body })).toMatchObject(message);
    expect(api.calls.length).toBe(1);
  });

  it('H104 refuses 1001 ids', async () => {
    const api = await testApi({ config: { maxBodyBytes: 1 << 20 } });
    const body = JSON.stringify({ jobIds: Array(1001).fill('x') });
    expect(await api.send('POST', `/v1/queues/${ID}/dlq/replay`, { body })).toMatchObject(message);
    expect(api.calls.length).toBe(1);
  });
});
