import { expect, it } from 'vitest';
import { createAccessLog, TrustedProxies } from '../../src/http/index.ts';
import { createLog, type LogLevel } from '../../src/telemetry/log.ts';
import { testApi } from '../support/fake-api.ts';
import { ID, KEY } from '../support/fake-services.ts';
import { waitFor } from '../support/wait-for.ts';

function accessLog({ level = 'info', logged = 'info' }: { level?: 'info' | 'debug'; logged?: LogLevel } = {}) {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ level: logged }, { write: (text) => lines.push(JSON.parse(text)) });
  const trustedProxies = new TrustedProxies(['127.0.0.1']);
  return { lines, log, watch: createAccessLog({ log, level, trustedProxies }) };
}

it('has one line for each request, with its route and neither payload nor key', async () => {
  const { lines, watch } = accessLog();
  const api = await testApi({ watch });
  const headers = { 'x-request-id': 'mine', 'x-forwarded-for': '203.0.113.5' };
  await api.send('POST', '/v1/queues/secret-name/jobs?secret=1', { headers, body: '{"payload":{"secret":1}}' });
  await api.send('GET', `/v1/jobs/${ID}`, { headers: { ...headers, authorization: 'Bearer wrong-key' } });
  await api.send('GET', '/secret', { headers });
  await api.send('GET', '/healthz', { headers });
  await waitFor(() => lines.length === 4, { message: 'four lines' });
  const common = { level: 'info', msg: 'request', requestId: 'mine', client: '203.0.113.5', ms: expect.any(Number) };
  expect(lines).toMatchObject([
    { ...common, method: 'POST', route: '/v1/queues/:queueName/jobs', status: 201, accountId: 'account' },
    { ...common, method: 'GET', route: '/v1/jobs/:id', status: 401, accountId: null },
    { ...common, method: 'GET', route: 'other', status: 404, accountId: null },
    { ...common, method: 'GET', route: '/healthz', status: 200, accountId: null },
  ]);
  const text = JSON.stringify(lines);
  for (const secret of ['secret', 'wrong-key', KEY, ID]) expect(text).not.toContain(secret);
});

it('has the trace of a request that belongs to one', async () => {
  const { lines, watch } = accessLog();
  const api = await testApi({ watch });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  await api.send('GET', '/healthz', {
    headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-00`, tracestate: 'a=b' },
  });
  await api.send('GET', '/healthz', { headers: { traceparent: 'nonsense' } });
  await waitFor(() => lines.length === 2, { message: 'two lines' });
  expect(lines).toMatchObject([{ route: '/healthz', traceId }, { route: '/healthz' }]);
  expect(lines[1]).not.toHaveProperty('traceId');
  expect(JSON.stringify(lines)).not.toContain('a=b');
});

it('says that an answer was cut off', async () => {
  const { lines, watch } = accessLog();
  const api = await testApi({ watch, services: { queues: { list: () => new Promise(() => undefined) } } });
  const { socket } = api.raw(`GET /v1/queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
  await waitFor(() => api.calls.length > 0, { message: 'the call' });
  socket.destroy();
  await waitFor(() => lines.length === 1, { message: 'the line' });
  expect(lines).toMatchObject([{ route: '/v1/queues', status: null, cutOff: true }]);
});

it('is off by default, and on while the level is debug', async () => {
  const { lines, log, watch } = accessLog({ level: 'debug' });
  const api = await testApi({ watch });
  await api.send('GET', '/v1/queues');
  log.level = 'debug';
  await api.send('GET', '/v1/queues');
  await waitFor(() => lines.length > 0, { message: 'the line' });
  expect(lines).toMatchObject([{ level: 'debug', route: '/v1/queues' }]);
});
