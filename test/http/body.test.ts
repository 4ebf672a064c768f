import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';
import { ID } from '../support/fake-services.ts';

/** Routes that take a body, with a body they accept, and the shape of their 400 (D22). */
const ROUTES: [method: string, path: string, body: string, shape: 'fields' | 'message'][] = [
  ['POST', '/v1/queues/mails/jobs', '{"payload":{}}', 'fields'],
  ['POST', '/v1/queues', '{"name":"mails","webhookUrl":"http://127.0.0.1/"}', 'fields'],
  ['PUT', `/v1/queues/${ID}`, '{}', 'fields'],
  ['POST', `/v1/jobs/${ID}/nack`, '{}', 'message'],
  ['POST', `/v1/jobs/${ID}/defer`, '{"retryAfter":1}', 'message'],
  ['POST', `/v1/queues/${ID}/dlq/replay`, '{"all":true}', 'message'],
];
const badRequest = {
  fields: { error: { formErrors: [expect.any(String)], fieldErrors: {} } },
  message: { error: expect.any(String) },
};
const utf8 = (...bytes: number[]) => Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);

describe.each(ROUTES)('the body of %s %s', (method, path, good, shape) => {
  it.each<[name: string, body: string | Buffer]>([
    ['H2 cut off', '{"a":'],
    ['H3 followed by junk', `${good}x`],
    ['H4 in single quotes', "{'a':1}"],
    ['H5 with a comment', `/* */${good}`],
    ['H6 with NaN', '{"a":NaN}'],
    ['H7 with a raw NUL in a string', '{"a":"\0"}'],
    ['H8 an array', '[]'],
    ['H9 a string', '"text"'],
    ['H10 null', 'null'],
    ['H11 a number', '1'],
    ['only white space', ' \n'],
    ['H20 with the byte ff', utf8(0xff)],
    ['H20 with an overlong form', utf8(0xc0, 0xaf)],
    ['H20 with an encoded surrogate', utf8(0xed, 0xa0, 0x80)],
    ['H21 after a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(good)])],
  ])('is refused with 400: %s', async (_name, body) => {
    const api = await testApi();
    const answer = await api.send(method, path, { body });
    expect(answer).toMatchObject({ status: 400, json: badRequest[shape] });
    expect(api.calls.filter(({ method }) => !method.startsWith('accounts.'))).toEqual([]);
  });

  it('H21 names a byte order mark as the reason', async () => {
    const { text } = await (await testApi()).send(method, path, { body: `\ufeff${good}` });
    expect(text).toContain('it begins with a byte order mark');
  });

  it.each<[name: string, body: string]>([
    ['H23 100 000 arrays', `{"payload":${'['.repeat(1e5)}${']'.repeat(1e5)}}`],
    ['H24 30 000 objects', `{"payload":${'{"a":'.repeat(3e4)}1${'}'.repeat(3e4)}}`],
    ['100 000 open brackets', '['.repeat(1e5)],
  ])('is refused when it is nested too deep: %s', async (_name, body) => {
    const api = await testApi({ config: { maxBodyBytes: 1 << 20 } });
    const answer = await api.send(method, path, { body });
    expect(answer).toMatchObject({ status: 400, json: badRequest[shape] });
    expect(answer.text).toContain('too deep');
  });

  it.each<[name: string, headers: Record<string, string>]>([
    ['H12 text', { 'content-type': 'text/plain' }],
    ['H14 a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['H14 a form in parts', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['another kind of JSON', { 'content-type': 'application/vnd.api+json' }],
    ['H15 UTF-16', { 'content-type': 'application/json; charset=utf-16' }],
    ['H16 an unknown charset', { 'content-type': 'application/json; charset=x' }],
    ['an empty charset', { 'content-type': 'application/json; charset=' }],
    ['H17 an unknown encoding', { 'content-encoding': 'x' }],
    ['H18 gzip', { 'content-encoding': 'gzip' }],
  ])('is refused with 415: %s', async (_name, headers) => {
    const api = await testApi();
    const answer = await api.send(method, path, { body: good, headers });
    expect(answer).toMatchObject({ status: 415, json: { error: expect.any(String) } });
  });

  it.each<[name: string, headers: Record<string, string | undefined>]>([
    ['H13 without a content type', { 'content-type': undefined }],
    ['with a charset', { 'content-type': 'application/json; charset=utf-8' }],
    ['with a charset without its dash', { 'content-type': 'application/json; charset=utf8' }],
    ['in other letters', { 'content-type': 'Application/JSON ; Charset="UTF-8"; q=1' }],
    ['with no encoding', { 'content-encoding': 'Identity' }],
  ])('is accepted: %s', async (_name, headers) => {
    const api = await testApi();
    const answer = await api.send(method, path, { body: good, headers });
    expect(answer.status).toBeLessThan(300);
  });

  it('H22 may be as large as the limit, and no larger', async () => {
    const api = await testApi();
    const fitting = good.padEnd(4096);
    expect((await api.send(method, path, { body: fitting })).status).toBeLessThan(300);
    expect((await api.send(method, path, { body: [fitting.slice(0, 4000), fitting.slice(4000)] })).status).toBeLessThan(
      300,
    );
    const tooLarge = { status: 413, json: { error: expect.any(String) } };
    expect(await api.send(method, path, { body: `${fitting} ` })).toMatchObject(tooLarge);
    expect(await api.send(method, path, { body: [fitting, ' '] })).toMatchObject(tooLarge);
  });
});

describe('bodies', () => {
  it.each(ROUTES.filter(([, path]) => !path.endsWith('/nack')))(
    'H1 cannot be left out of %s %s',
    async (method, path, _good, shape) => {
      const api = await testApi();
      expect(await api.send(method, path)).toMatchObject({ status: 400, json: badRequest[shape] });
    },
  );

  it.each(['/ack', '/nack'])('can be left out of %s, whatever the content type says', async (action) => {
    const api = await testApi();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await api.send('POST', `/v1/jobs/${ID}${action}`, { headers })).status).toBe(200);
    expect((await api.send('POST', `/v1/jobs/${ID}${action}`, { body: [] })).status).toBe(200);
  });

  it.each([
    [`/v1/jobs/${ID}/ack`, 200],
    [`/v1/queues/${ID}/dlq/${ID}/replay`, 201],
  ])('are ignored by %s, within the limit', async (path, status) => {
    const api = await testApi();
    expect((await api.send('POST', path, { body: '{"a":', headers: { 'content-type': 'text/plain' } })).status).toBe(
      status,
    );
    expect((await api.send('POST', path, { body: 'x'.repeat(4097) })).status).toBe(413);
    expect((await api.send('POST', path, { body: ['x'.repeat(4096), 'x'] })).status).toBe(413);
  });

  it('H19 are never inflated', async () => {
    const api = await testApi();
    const body = gzipSync(Buffer.alloc(1 << 20));
    const headers = { 'content-encoding': 'gzip' };
    expect((await api.send('POST', '/v1/queues/mails/jobs', { body, headers })).status).toBe(415);
  });

  it('H22 that go on past the limit are read to their end, so that the 413 arrives', async () => {
    const api = await testApi();
    const chunk = 'x'.repeat(1 << 16);
    const answer = await api.send('POST', '/v1/queues/mails/jobs', { body: Array(100).fill(chunk) });
    expect(answer).toMatchObject({ status: 413, json: { error: expect.any(String) } });
  });

  it('are not waited for when the key is wrong', async () => {
    const api = await testApi();
    const head =
      'POST /v1/queues/mails/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: 4000\r\n\r\n';
    const { socket } = api.raw(head);
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    expect(first.toString()).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  it('leave the service unharmed when the client goes away in the middle', async () => {
    const api = await testApi();
    const head =
      'POST /v1/queues/mails/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer jf_test_key\r\nContent-Length: 4000\r\n\r\n{';
    const { socket } = api.raw(head);
    await expect.poll(() => api.calls.length).toBe(1);
    socket.destroy();
    expect((await api.send('GET', '/v1/queues')).status).toBe(200);
    await api.close();
    expect(api.logged).toEqual([]);
    expect(api.calls.map((call) => call.method)).toEqual([
      'accounts.authenticate',
      'accounts.authenticate',
      'queues.list',
    ]);
  });
});
