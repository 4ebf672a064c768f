import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApi, testApi } from '../support/fake-api.ts';
import { account, CREATED_AT, ID, job } from '../support/fake-services.ts';

const PATH = '/v1/queues/mails/jobs';
const published = { id: ID, status: 'pending', createdAt: CREATED_AT.toISOString() };

function fieldError(field: string) {
  return { status: 400, json: { error: { formErrors: [], fieldErrors: { [field]: [expect.any(String)] } } } };
}

describe('publish', () => {
  it.each([
    [true, 201],
    [false, 200],
  ])('answers a job that is new: %s with %i', async (created, status) => {
    const job = { id: ID, status: 'pending' as const, createdAt: CREATED_AT };
    const publishJob = async () => ({ created, payloadDiffers: false, job });
    const api = await testApi({ services: { jobs: { publish: publishJob } } });
    const body = '{"payload":{"a":1},"idempotencyKey":"k","delay":0.5,"unknown":{"a":[1]}}';
    const answer = await api.send('POST', PATH, { body });
    expect(answer).toMatchObject({ status, json: published });
    expect(Object.keys(answer.json)).toEqual(['id', 'status', 'createdAt']);
    expect(api.calls[1]).toEqual({
      method: 'jobs.publish',
      args: [account, 'mails', { payload: '{"a":1}', idempotencyKey: 'k', delay: 0.5 }],
    });
  });

  it.each([
    ['H57 empty', '{}'],
    ['H58 numbers', '{"a":9007199254740993,"b":12345678901234567890,"c":-0,"d":1.0,"e":1e400,"f":1E+2}'],
    ['H59 an escaped NUL', '{"a":"\\u0000"}'],
    ['H60 a lone surrogate escape', '{"a":"\\ud800"}'],
    ['H61 duplicate keys, their order and white space', '{ "b" : 1,\r\n\t"a":2, "b":3 }'],
    ['H62 texts that are dangerous elsewhere', '{"a":"</script>\u2028\u202e\u00e9","b":"\\/"}'],
    ['H26 prototype keys', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
    ['100 levels', `${'{"a":'.repeat(99)}{}${'}'.repeat(99)}`],
  ])('passes on the payload as it is: %s', async (_name, payload) => {
    const api = await testApi();
    expect((await api.send('POST', PATH, { body: `{ "payload" : ${payload} }` })).status).toBe(201);
    expect(api.calls[1]?.args[2]).toEqual({ payload });
    expect({}).not.toHaveProperty('polluted');
  });

  it('H26 takes nothing from a __proto__ beside the payload', async () => {
    const api = await testApi();
    const body = '{"__proto__":{"delay":5,"idempotencyKey":"k"},"payload":{}}';
    expect((await api.send('POST', PATH, { body })).status).toBe(201);
    expect(api.calls[1]?.args[2]).toEqual({ payload: '{}' });
  });

  it.each([
    ['H27 given twice', '{"payload":{},"payload":{}}'],
    ['H27 given twice, once in escapes', '{"payload":{},"p\\u0061yload":{}}'],
    ['H56 missing', '{}'],
    ['H56 hidden in __proto__', '{"__proto__":{"payload":{}}}'],
    ['H56 null', '{"payload":null}'],
    ['H56 an array', '{"payload":[]}'],
    ['H56 a string', '{"payload":"{}"}'],
    ['H56 a number', '{"payload":1}'],
  ])('refuses a payload that is %s', async (_name, body) => {
    const api = await testApi();
    expect(await api.send('POST', PATH, { body })).toMatchObject(fieldError('payload'));
  });

  it('names a payload that is missing', async () => {
    const { json } = await (await testApi()).send('POST', PATH, { body: '{"delay":1}' });
    expect(json.error.fieldErrors).toEqual({ payload: ['must be given'] });
  });

  it.each([
    ['H63 255 characters', `"${'k'.repeat(255)}"`, 'k'.repeat(255)],
    ['H63 255 characters of two units', `"${'\u{1f511}'.repeat(255)}"`, '\u{1f511}'.repeat(255)],
    ['H66 composed', '"\u00e9"', '\u00e9'],
    ['H66 decomposed', '"e\u0301"', 'e\u0301'],
    ['H66 a trailing space', '"k "', 'k '],
    ['H67 signs of other languages', '"%_\'; drop table x; $1"', "%_'; drop table x; $1"],
    ['a pair of surrogate escapes', '"\\ud83d\\ude00"', '\u{1f600}'],
  ])('takes an idempotencyKey: %s', async (_name, source, key) => {
    const api = await testApi();
    expect((await api.send('POST', PATH, { body: `{"payload":{},"idempotencyKey":${source}}` })).status).toBe(201);
    expect(api.calls[1]?.args[2]).toEqual({ payload: '{}', idempotencyKey: key });
  });

  it.each([
    ['H63 256 characters', `"${'k'.repeat(256)}"`],
    ['H63 256 characters of two units', `"${'\u{1f511}'.repeat(256)}"`],
    ['H63 empty', '""'],
    ['H63 a number', '1'],
    ['H63 null', 'null'],
    ['H64 NUL', '"a\\u0000"'],
    ['H65 a lone surrogate', '"\\ud800"'],
  ])('refuses an idempotencyKey: %s', async (_name, source) => {
    const api = await testApi();
    const body = `{"payload":{},"idempotencyKey":${source}}`;
    expect(await api.send('POST', PATH, { body })).toMatchObject(fieldError('idempotencyKey'));
  });

  it.each(['0', '0.001', '86400', '1e3'])('H68 takes a delay of %s', async (delay) => {
    const api = await testApi();
    expect((await api.send('POST', PATH, { body: `{"payload":{},"delay":${delay}}` })).status).toBe(201);
    expect(api.calls[1]?.args[2]).toEqual({ payload: '{}', delay: Number(delay) });
  });

  it.each(['-0.001', '86400.001', '"1"', 'null', '1e400', '-1e400', 'true', '[1]'])(
    'H68 refuses a delay of %s',
    async (delay) => {
      const api = await testApi();
      expect(await api.send('POST', PATH, { body: `{"payload":{},"delay":${delay}}` })).toMatchObject(
        fieldError('delay'),
      );
    },
  );

  it.each(['UPPER', 'a'.repeat(65), 'a%0a', '..%2f', '%F0%9F%98%80', 'a.b', 'a%20b', '%00', 'a%EF%BD%81'])(
    'H70 knows no queue called %s',
    async (name) => {
      const api = await testApi();
      const answer = await api.send('POST', `/v1/queues/${name}/jobs`, { body: '{"payload":{}}' });
      expect(answer).toMatchObject({ status: 404, json: { error: 'queue not found' } });
      expect(api.calls.map((call) => call.method)).toEqual(['accounts.authenticate']);
    },
  );

  it.each(['-', '_', '9', 'a'.repeat(64)])('takes the queue name %s', async (name) => {
    const api = await testApi();
    expect((await api.send('POST', `/v1/queues/${name}/jobs`, { body: '{"payload":{}}' })).status).toBe(201);
  });

  it('shows every payload again, byte for byte, in documents and in lists', async () => {
    let payload = '';
    const api = await startApi({
      services: {
        jobs: {
          publish: async (_account, _queueName, input) => {
            ({ payload } = input);
            return { created: true, payloadDiffers: false, job };
          },
          get: async () => ({ ...job, payload, lastError: 'verbatim:' }),
          list: async () => ({
            jobs: [
              { ...job, payload },
              { ...job, payload: '{ }' },
            ],
            total: 2,
            page: 1,
            limit: 25,
            appliedFrom: CREATED_AT,
          }),
        },
      },
    });
    onTestFinished(api.close);
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 3 }), async (json) => {
        const source = `{ "x":1e400, "x" : ${json}}`;
        const body = `{"delay":0, "payload" :${source} }`;
        expect((await api.send('POST', PATH, { body })).status).toBe(201);
        const one = await api.send('GET', `/v1/jobs/${ID}`);
        expect(one.text).toContain(`"payload":${source},"scheduledFor"`);
        expect(one.json.payload).toEqual(JSON.parse(source));
        const list = await api.send('GET', `/v1/queues/${ID}/jobs`);
        expect(list.text).toContain(`"payload":${source},"scheduledFor"`);
        expect(list.json.jobs[1].payload).toEqual({});
      }),
      { numRuns: 50 },
    );
  });
});
