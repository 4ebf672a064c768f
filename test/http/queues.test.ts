import { describe, expect, it } from 'vitest';
import { QUEUE_DEFAULTS } from '../../src/domain/queue.ts';
import { testApi } from '../support/fake-api.ts';
import { account, CREATED_AT, createdQueue, ID } from '../support/fake-services.ts';

const { signingSecret, ...queue } = createdQueue;
const shown = { ...queue, createdAt: CREATED_AT.toISOString() };
const REQUIRED = { name: 'mails', webhookUrl: 'http://127.0.0.1:8080/hook' };

/** Fields of both bodies, as JSON source text: what is taken and what is not. */
const SETTINGS: [field: string, taken: string[], refused: string[]][] = [
  ['maxAttempts', ['1', '25', '3.0'], ['0', '26', '3.5', '"3"', 'null', '1e400', 'true', '[3]']],
  ['maxDefers', ['0', '1000'], ['-1', '1001', '0.5', 'null']],
  ['concurrency', ['1', '101', '500'], ['0', '501', '100.5', 'null']],
  ['rateLimitMax', ['null', '1', '2147483647'], ['0', '-1', '1.5', '2147483648', '"1"']],
  ['rateLimitWindow', ['0.001', '3600'], ['0', '0.0009', '3600.1', 'null']],
  ['ackTimeout', ['0.001', '86400'], ['0', '0.0009', '86400.1', 'null']],
  ['backoffDelay', ['0', '0.5', '3600'], ['-0.001', '3600.1', 'null']],
  ['dlqEnabled', ['true', 'false'], ['"true"', '1', 'null']],
  ['mode', ['"standard"', '"ack"'], ['"ACK"', '"other"', 'null', '1']],
  ['backoffType', ['"fixed"', '"exponential"'], ['"Fixed"', 'null']],
  ['ackTimeoutAction', ['"retry"', '"dead"'], ['"DEAD"', 'null']],
  [
    'webhookUrl',
    ['"http://127.0.0.1/"', '"https://example.com/a?b=c"'],
    [
      '"x"',
      '""',
      '"ftp://example.com/"',
      '"file:///etc/passwd"',
      '"javascript:alert(1)"',
      `"http://example.com/${'a'.repeat(3000)}"`,
      '"http://example.com/\\u0000"',
      'null',
      '1',
    ],
  ],
  [
    'name',
    ['"-"', '"_"', '"9"', `"${'a'.repeat(64)}"`],
    ['""', `"${'a'.repeat(65)}"`, '"A"', '"a b"', '"a.b"', '"a\\n"', '"\uff41"', '"\u00e9"', '"a\\u0000"', 'null', '1'],
  ],
];
const taken = SETTINGS.flatMap(([field, sources]) =>
  sources.map((source) => [field, source.slice(0, 70), source] as const),
);
const refused = SETTINGS.flatMap(([field, , sources]) =>
  sources.map((source) => [field, source.slice(0, 70), source] as const),
);

function withMember(object: object, field: string, source: string): string {
  const members = Object.entries(object).filter(([key]) => key !== field);
  return `{${[...members.map(([key, value]) => `"${key}":${JSON.stringify(value)}`), `"${field}":${source}`].join(',')}}`;
}

describe('create', () => {
  it('passes on what is given and nothing else', async () => {
    const api = await testApi();
    const body = JSON.stringify({ ...REQUIRED, mode: 'ack', template: 'openai', unknown: 1, id: 'x' });
    const answer = await api.send('POST', '/v1/queues', { body });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({ ...shown, ...REQUIRED, mode: 'ack', signingSecret });
    expect(api.calls[1]).toEqual({
      method: 'queues.create',
      args: [account, { ...REQUIRED, mode: 'ack', template: 'openai' }],
    });
  });

  it.each(taken)('takes %s %s', async (field, _start, source) => {
    const api = await testApi();
    expect((await api.send('POST', '/v1/queues', { body: withMember(REQUIRED, field, source) })).status).toBe(201);
    expect(api.calls[1]?.args[1]).toMatchObject({ [field]: JSON.parse(source) });
  });

  it.each([...refused, ['template', 'null', 'null'] as const, ['template', '1', '1'] as const])(
    'refuses %s %s',
    async (field, _start, source) => {
      const api = await testApi();
      const answer = await api.send('POST', '/v1/queues', { body: withMember(REQUIRED, field, source) });
      expect(answer).toMatchObject({
        status: 400,
        json: { error: { formErrors: [], fieldErrors: { [field]: expect.any(Array) } } },
      });
      expect(Object.keys(answer.json.error.fieldErrors)).toEqual([field]);
    },
  );

  it('names every field that is missing', async () => {
    const api = await testApi();
    expect(await api.send('POST', '/v1/queues', { body: '{}' })).toMatchObject({
      status: 400,
      json: { error: { formErrors: [], fieldErrors: { name: ['must be given'], webhookUrl: ['must be given'] } } },
    });
  });

  it('stores the parsed form of the address', async () => {
    const api = await testApi();
    const body = JSON.stringify({ ...REQUIRED, webhookUrl: 'http://2130706433/a b' });
    expect((await api.send('POST', '/v1/queues', { body })).status).toBe(201);
    expect(api.calls[1]?.args[1]).toMatchObject({ webhookUrl: 'http://127.0.0.1/a%20b' });
  });
});

describe('update', () => {
  it.each(taken)('takes %s %s and passes on nothing else', async (field, _start, source) => {
    const api = await testApi();
    const answer = await api.send('PUT', `/v1/queues/${ID}`, { body: withMember({}, field, source) });
    expect(answer.status).toBe(200);
    expect(api.calls[1]?.args).toEqual([account, ID, { [field]: JSON.parse(source) }]);
  });

  it.each([...refused, ['template', '"openai"', '"openai"'] as const, ['template', 'null', 'null'] as const])(
    'refuses %s %s',
    async (field, _start, source) => {
      const api = await testApi();
      const answer = await api.send('PUT', `/v1/queues/${ID}`, { body: withMember({}, field, source) });
      expect(answer).toMatchObject({
        status: 400,
        json: { error: { formErrors: [], fieldErrors: { [field]: expect.any(Array) } } },
      });
    },
  );

  it('takes what get answers (D24)', async () => {
    const api = await testApi();
    const { text } = await api.send('GET', `/v1/queues/${ID}`);
    expect(await api.send('PUT', `/v1/queues/${ID}`, { body: text })).toMatchObject({ status: 200, json: shown });
    const { id: _, createdAt: __, ...settings } = queue;
    expect(api.calls.find(({ method }) => method === 'queues.update')?.args[2]).toEqual(settings);
  });
});

describe('answers', () => {
  it('show the signing secret on create only', async () => {
    const api = await testApi();
    for (const [method, path, body] of [
      ['GET', '/v1/queues', undefined],
      ['GET', `/v1/queues/${ID}`, undefined],
      ['PUT', `/v1/queues/${ID}`, '{}'],
    ] as const) {
      const answer = await api.send(method, path, body === undefined ? {} : { body });
      expect([answer.json].flat()).toEqual([shown]);
      expect(answer.text).not.toContain(signingSecret);
    }
    expect(Object.keys(shown).sort()).toEqual(
      ['id', 'name', 'webhookUrl', 'createdAt', ...Object.keys(QUEUE_DEFAULTS)].sort(),
    );
  });

  it('have no body after delete', async () => {
    const api = await testApi();
    const answer = await api.send('DELETE', `/v1/queues/${ID}`);
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers['content-type']).toBeUndefined();
  });
});
