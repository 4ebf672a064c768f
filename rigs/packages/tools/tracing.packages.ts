import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../../../test/support/account.ts';
import { type Api, createApi } from '../../../test/support/api.ts';
import { type CollectedSpan, type Collector, startCollector } from '../../../test/support/collector.ts';
import { createTestDatabase } from '../../../test/support/database.ts';
import { type Jobferry, startJobferry } from '../../../test/support/process.ts';
import type { ReceivedRequest } from '../../../test/support/receiver.ts';
import { openReceiver } from '../../../test/support/service.ts';
import { tracedCalls, traceIdsOf } from '../../../test/support/traced-calls.ts';
import { waitFor } from '../../../test/support/wait-for.ts';

/** Traces of a whole process with the SDK of deploy/tracing, exported to a collector. */

const EXAMPLE = fileURLToPath(new URL('../../../deploy/tracing/telemetry.mjs', import.meta.url));
const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));
const SPAN_ID = '00f067aa0ba902b7';
const PAYLOAD = 'payload-that-stays-secret';
const HEADERS = /^00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])$/;

function traceOf(request: ReceivedRequest | undefined): { traceId: string; spanId: string; sampled: boolean } {
  const [, traceId = '', spanId = '', flag] = HEADERS.exec(String(request?.headers.traceparent)) ?? [];
  return { traceId, spanId, sampled: flag === '1' };
}

describe('with an SDK', () => {
  let jobferry: Jobferry;
  let api: Api;
  let collector: Collector;
  let call: ReturnType<typeof tracedCalls>;
  let folder: string;

  beforeAll(async () => {
    collector = await startCollector();
    // A folder of its own with the packages, as docs/tracing.md has it.
    folder = await mkdtemp(join(tmpdir(), 'jobferry-tracing-'));
    await copyFile(EXAMPLE, join(folder, 'telemetry.mjs'));
    await symlink(MODULES, join(folder, 'node_modules'), 'junction');
    const { url } = await createTestDatabase();
    const { key } = await createAccount(url);
    const env = {
      NODE_OPTIONS: `--import ${pathToFileURL(join(folder, 'telemetry.mjs')).href}`,
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
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('has a span for each step, in the trace of the publisher and in one for the retry', {
    timeout: 30_000,
  }, async () => {
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
      parentSpanId: named(claim, traceId).spanId,
      spanId: first?.spanId,
      status: 2,
      attributes: { 'jobferry.attempt': 1, 'http.response.status_code': 500, 'messaging.message.id': id },
    });
    expect(named(settle, traceId)).toMatchObject({ attributes: { 'jobferry.status': 'pending' } });

    const retry = second?.traceId;
    expect(retry).not.toBe(traceId);
    expect(named(claim, retry)).toMatchObject({ parentSpanId: '', links: [traceId] });
    expect(named(deliver, retry)).toMatchObject({
      spanId: second?.spanId,
      status: 0,
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
