import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { tracedCalls, traceIdsOf } from '../support/traced-calls.ts';
import { waitFor } from '../support/wait-for.ts';

/** Traces of a process without an OpenTelemetry SDK. rigs/packages has one with an SDK. */

const SPAN_ID = '00f067aa0ba902b7';

let jobferry: Jobferry;
let api: Api;
let call: ReturnType<typeof tracedCalls>;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  const { key } = await createAccount(url);
  jobferry = await startJobferry({ databaseUrl: url, env: { LOG_LEVEL: 'debug' } });
  api = createApi(jobferry.baseUrl, key);
  call = tracedCalls(jobferry, key);
});
afterAll(() => jobferry.kill());

it('passes the trace of the publisher on with every attempt', async () => {
  const answers = [500, 200];
  const receiver = await openReceiver(() => ({ status: answers.shift() ?? 200 }));
  const queue = await api.createQueue({ webhookUrl: receiver.url, backoffDelay: 0 });
  const from = { traceparent: `00-${'a'.repeat(32)}-${SPAN_ID}-01`, tracestate: 'rojo=1,congo=2' };
  const { id } = await call(`/v1/queues/${queue.name}/jobs`, { payload: {} }, from);
  const requests = await receiver.waitFor(2);
  expect(requests.map(({ headers: { traceparent, tracestate } }) => ({ traceparent, tracestate }))).toEqual([
    from,
    from,
  ]);
  await waitFor(() => traceIdsOf(jobferry, id).length === 2, { message: 'the lines of both attempts' });
  expect(traceIdsOf(jobferry, id)).toEqual(['a'.repeat(32), 'a'.repeat(32)]);
});

it('sends no header for a job without a trace, or with one that is not well-formed', async () => {
  const receiver = await openReceiver();
  const queue = await api.createQueue({ webhookUrl: receiver.url });
  const { id } = await api.publish(queue.name);
  await call(`/v1/queues/${queue.name}/jobs`, { payload: {} }, { traceparent: 'nonsense', tracestate: 'rojo=1' });
  for (const { headers } of await receiver.waitFor(2)) {
    expect(headers).not.toHaveProperty('traceparent');
    expect(headers).not.toHaveProperty('tracestate');
  }
  await waitFor(() => traceIdsOf(jobferry, id).length === 1, { message: 'the line of the attempt' });
  expect(traceIdsOf(jobferry, id)).toEqual([undefined]);
});
