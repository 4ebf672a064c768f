import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Traces of whole processes: with the SDK of deploy/tracing, exported to a collector, and without any SDK. */

const EXAMPLE = fileURLToPath(new URL('../../deploy/tracing/telemetry.mjs', import.meta.url));
const SPAN_ID = '00f067aa0ba902b7';
const PAYLOAD = 'payload-that-stays-secret';
const HEADERS = /^00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])$/;

/** A client that sends a `traceparent`, as one with instrumentation of its own does. */
function tracedCalls(jobferry: Jobferry, key: string) {
  return async (path: string, body: object, headers: Record<string, string>) => {
    const sent = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
    const response = await fetch(`${jobferry.baseUrl}${path}`, {
      method: 'POST',
      headers: sent,
      body: JSON.stringify(body),
    });
    expect(response.ok).toBe(true);
    return (await response.json()) as { id: string };
  };
}

function traceOf(request: ReceivedRequest | undefined): { traceId: string; spanId: string; sampled: boolean } {
  const [, traceId = '', spanId = '', flag] = HEADERS.exec(String(request?.headers.traceparent)) ?? [];
  return { traceId, spanId, sampled: flag === '1' };
}

const traceIdsOf = ({ logs }: Jobferry, jobId: string) =>
  logs.flatMap((line) => (line.msg === 'attempt' && line.jobId === jobId ? [line.traceId] : []));

describe('with an SDK', () => {
  let jobferry: Jobferry;
  let api: Api;
  let collector: Collector;
  let call: ReturnType<typeof tracedCalls>;

  beforeAll(async () => {
    collector = await startCollector();
    const { url } = await createTestDatabase();
    const { key } = await createAccount(url);
    const env = {
      NODE_OPTIONS: `--import ${pathToFileURL(EXAMPLE).href}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_SERVICE_NAME: 'queue-of-the-test',
      // Nothing is exported before the process stops.
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      TRACE_RATIO: '0',
      LOG_LEVEL: 'debug',
    };
    jobferry = await startJobferry({ databaseUrl: url, env });
    api = createApi(jobferry.baseUrl, key);
    call = tracedCalls(jobferry, key);
  });

  it('has a span for each step, in the trace of the publisher and in one for the retry', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const answers = [500, 200];
    const receiver = await openReceiver(() => ({ status: answers.shift() ?? 200 }));
    const queue = await api.createQueue({
      webhookUrl: `${receiver.url}/?secret=in-the-url`,
      mode: 'ack',
      backoffDelay: 0,
    });
    const from = { traceparent: `00-${traceId}-${SPAN_ID}-01`, tracestate: 'rojo=1' };
    const { id } = await call(`/v1/queues/${queue.name}/jobs`, { payload: { text: PAYLOAD } }, from);
    await api.waitForStatus(id, 'awaiting_ack');
    const [first, second] = (await receiver.waitFor(2)).map(traceOf);
    await call(`/v1/jobs/${id}/ack`, {}, { traceparent: String(receiver.requests[1]?.headers.traceparent) });

    // Unsampled: the decision is carried on, and nothing is exported.
    const unsampled = { traceparent: `00-${'b'.repeat(32)}-${SPAN_ID}-00` };
    const other = await api.createQueue({ webhookUrl: receiver.url });
    const mutation = `mutation { publishJob(queue: "${other.name}", input: { payload: {} }) { __typename } }`;
    await call('/graphql', { query: mutation }, unsampled);
    await receiver.waitFor(3);
    expect(traceOf(receiver.requests[2])).toMatchObject({ traceId: 'b'.repeat(32), sampled: false });

    // A trace that would begin here tells the receiver the same, by the id of the job.
    const { id: untraced } = await api.publish(other.name);
    await receiver.waitFor(4);
    const traceOfId = `${untraced}${untraced.slice(16)}`;
    expect(traceOf(receiver.requests[3])).toEqual({ traceId: traceOfId, spanId: untraced.slice(8), sampled: false });

    await waitFor(() => traceIdsOf(jobferry, id).length === 2, { message: 'the lines of both attempts' });
    expect(traceIdsOf(jobferry, id)).toEqual([first?.traceId, second?.traceId]);
    expect(collector.spans).toEqual([]);
    expect(await jobferry.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    const named = (name: string, trace: string | undefined): CollectedSpan => {
      const found = collector.spans.filter((span) => span.name === name && span.traceId === trace);
      expect(found, `${name} in ${trace}`).toHaveLength(1);
      return found[0] as CollectedSpan;
    };
    const { name } = queue;
    const [publish, claim, deliver, settle] = [`publish ${name}`, `claim ${name}`, `deliver ${name}`, `settle ${name}`];
    expect(collector.spans).toHaveLength(8);
    expect(first?.traceId).toBe(traceId);
    expect(named(publish, traceId)).toMatchObject({ parentSpanId: SPAN_ID, service: 'queue-of-the-test', links: [] });
    expect(named(claim, traceId)).toMatchObject({ parentSpanId: named(publish, traceId).spanId, links: [] });
    expect(named(deliver, traceId)).toMatchObject({
      ...{ parentSpanId: named(claim, traceId).spanId, spanId: first?.spanId, status: 2 },
      attributes: { 'jobferry.attempt': 1, 'http.response.status_code': 500, 'messaging.message.id': id },
    });
    expect(named(settle, traceId)).toMatchObject({ attributes: { 'jobferry.status': 'pending' } });

    const retry = second?.traceId;
    expect(retry).not.toBe(traceId);
    expect(named(claim, retry)).toMatchObject({ parentSpanId: '', links: [traceId] });
    expect(named(deliver, retry)).toMatchObject({
      ...{ spanId: second?.spanId, status: 0 },
      attributes: { 'jobferry.attempt': 2, 'messaging.destination.name': name, 'jobferry.queue.id': queue.id },
    });
    expect(named(settle, retry)).toMatchObject({ attributes: { 'jobferry.status': 'awaiting_ack' } });
    expect(named('report ack', retry)).toMatchObject({
      parentSpanId: second?.spanId,
      attributes: { 'messaging.message.id': id, 'jobferry.attempt': 2, 'jobferry.status': 'completed' },
    });
    for (const secret of [PAYLOAD, 'in-the-url', queue.signingSecret]) expect(collector.text()).not.toContain(secret);
    expect(receiver.requests[0]?.headers.tracestate).toBe('rojo=1');
    // One header each: two would make both worthless.
    const names = receiver.requests[0]?.rawHeaders.filter((header) => header.toLowerCase() === 'traceparent');
    expect(names).toHaveLength(1);
  });
});

describe('without an SDK', () => {
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
});
