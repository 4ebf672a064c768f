import { type Attributes, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import { unavailable } from '../../../src/domain/errors.ts';
import { NOT_SAMPLED } from '../../../src/domain/trace.ts';
import { openTracing } from '../../../src/telemetry/tracing/open-tracing.ts';
import { type TracedJob, Tracing } from '../../../src/telemetry/tracing/tracing.ts';

/** The spans, with a real SDK and without a process; tracing.packages.ts has a process and a collector. */

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const FROM = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const UNSAMPLED = `00-${TRACE_ID}-00f067aa0ba902b7-00`;

function setup(root: Sampler = new AlwaysOnSampler()) {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  const provider = new BasicTracerProvider({ sampler: new ParentBasedSampler({ root }), spanProcessors });
  const started: string[] = [];
  const tracer = provider.getTracer('test');
  const counting = Object.assign(Object.create(tracer), {
    startSpan: (...args: Parameters<typeof tracer.startSpan>) => {
      started.push(args[0]);
      return tracer.startSpan(...args);
    },
  });
  return { tracing: new Tracing(counting), spans: () => exporter.getFinishedSpans(), started };
}

function job(state: Partial<TracedJob['state']> = {}, trace: string | null = FROM): TracedJob {
  const names = { id: 'job-1', accountId: 'account-1', queueId: 'queue-1', queueName: 'mails' };
  return { ...names, trace, state: { attempts: 1, deferCount: 0, interruptions: 0, ...state } };
}

/** A whole attempt. @returns what the request to the webhook carries */
async function attempt({ tracing }: ReturnType<typeof setup>, of: TracedJob): Promise<string> {
  const spans = tracing.startAttempt(of, Date.now() - 50);
  if (spans === null) throw new Error('the attempt is not traced');
  const carried = spans.startDelivery(of.queueName, 'https://user:password@hooks.example/a?token=secret');
  spans.endDelivery({ outcome: 'failed', statusCode: 500, error: 'HTTP 500' });
  await spans.settle(of.queueName, 'pending', Promise.resolve());
  return carried;
}

const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;

describe('an attempt', () => {
  it('continues the trace of the publish when it is the first', async () => {
    const parts = setup();
    const carried = await attempt(parts, job());
    const [claim, deliver, settle] = parts.spans();
    expect(parts.spans().map(({ name }) => name)).toEqual(['claim mails', 'deliver mails', 'settle mails']);
    expect(parts.spans().map((span) => span.spanContext().traceId)).toEqual([TRACE_ID, TRACE_ID, TRACE_ID]);
    expect([parentOf(claim), parentOf(deliver), parentOf(settle)]).toEqual([
      '00f067aa0ba902b7',
      idOf(claim),
      idOf(claim),
    ]);
    expect(carried).toBe(`00-${TRACE_ID}-${idOf(deliver)}-01`);
    expect(claim?.links).toEqual([]);
  });

  it.each([
    ['a retry', { attempts: 2 }],
    ['after a hold', { deferCount: 1 }],
    ['after an interruption', { interruptions: 1 }],
  ])('begins a trace that links to the one of the publish: %s', async (_what, state) => {
    const parts = setup();
    await attempt(parts, job(state));
    const [claim, deliver] = parts.spans();
    expect(claim?.spanContext().traceId).not.toBe(TRACE_ID);
    expect(deliver?.spanContext().traceId).toBe(claim?.spanContext().traceId);
    expect(parentOf(claim)).toBeUndefined();
    expect(claim?.links.map(({ context }) => context.traceId)).toEqual([TRACE_ID]);
  });

  it('has no link without a trace of the publish', async () => {
    const parts = setup();
    await attempt(parts, job({ attempts: 2 }, null));
    expect(parts.spans()[0]?.links).toEqual([]);
  });

  it('names job, queue and attempt, and no part of the URL that could be secret', async () => {
    const parts = setup();
    await attempt(parts, job({ attempts: 3 }));
    for (const { attributes } of parts.spans()) {
      expect(attributes).toMatchObject({
        'messaging.message.id': 'job-1',
        'messaging.destination.name': 'mails',
        'jobferry.queue.id': 'queue-1',
        'jobferry.account.id': 'account-1',
        'jobferry.attempt': 3,
      } satisfies Attributes);
    }
    const [, deliver, settle] = parts.spans();
    expect(deliver?.attributes).toMatchObject({
      'server.address': 'hooks.example',
      'server.port': 443,
      'http.response.status_code': 500,
      'jobferry.outcome': 'failed',
    });
    expect(deliver?.status.code).toBe(SpanStatusCode.ERROR);
    expect(settle?.attributes).toMatchObject({ 'jobferry.status': 'pending' });
    expect(JSON.stringify(parts.spans().map(({ attributes }) => attributes))).not.toMatch(/secret|password/);
  });

  it('makes no span if its publish was not sampled, and asks the SDK for none', () => {
    const parts = setup();
    expect(parts.tracing.startAttempt(job({}, UNSAMPLED), Date.now())).toBeNull();
    expect(parts.tracing.startAttempt(job({ attempts: 2 }, UNSAMPLED), Date.now())).toBeNull();
    expect(parts.started).toEqual([]);
  });

  it('an attempt of a publish without a trace is sampled by itself', async () => {
    const parts = setup();
    await attempt(parts, job({}, null));
    expect(parts.spans()).toHaveLength(3);
  });

  it('keeps the tracestate', async () => {
    expect(await attempt(setup(), job({}, `${FROM} rojo=1`))).toMatch(/-01 rojo=1$/);
  });
});

describe('a publish and a report', () => {
  it('continue the trace of the request', async () => {
    const parts = setup();
    const publish = parts.tracing.startPublish({ id: 'account-1' }, 'mails', FROM);
    const stored = publish.trace;
    await publish.work?.until(Promise.resolve('job-1'), (id) => ({ 'messaging.message.id': id }));
    await parts.tracing.startReport('ack', job({}, stored), null).until(Promise.resolve(), () => ({}));
    const [first, second] = parts.spans();
    expect(first?.attributes).toMatchObject({ 'messaging.message.id': 'job-1' });
    expect([parentOf(first), parentOf(second)]).toEqual(['00f067aa0ba902b7', idOf(first)]);
    expect(stored).toBe(`00-${TRACE_ID}-${idOf(first)}-01`);
  });

  it('begin a trace without one', () => {
    const parts = setup();
    expect(parts.tracing.startPublish({ id: 'a' }, 'mails', null).trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  it('leave one character with a job whose trace is not sampled, and the trace of the request if it has one', () => {
    const parts = setup(new AlwaysOffSampler());
    expect(parts.tracing.startPublish({ id: 'a' }, 'mails', null)).toEqual({ work: null, trace: NOT_SAMPLED });
    const given = parts.tracing.startPublish({ id: 'a' }, 'mails', UNSAMPLED);
    expect(given.work).toBeNull();
    expect(given.trace).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
  });

  it('fail with the kind of the error, and without its message', async () => {
    const parts = setup();
    const fail = (error: Error) =>
      parts.tracing.startPublish({ id: 'a' }, 'mails', FROM).work?.until(Promise.reject(error), () => ({}));
    await expect(fail(unavailable('the database is away', 'nothing'))).rejects.toThrow('away');
    await expect(fail(new TypeError('a piece of a payload'))).rejects.toThrow('payload');
    const ended = parts.spans().map(({ status, attributes }) => ({ ...status, type: attributes['error.type'] }));
    expect(ended).toEqual([
      { code: SpanStatusCode.ERROR, message: 'unavailable', type: 'unavailable' },
      { code: SpanStatusCode.ERROR, message: 'TypeError', type: 'TypeError' },
    ]);
    expect(parts.spans().flatMap(({ events }) => events)).toEqual([]);
  });
});

describe('a process', () => {
  it('makes no spans if no SDK is registered', () => {
    expect(openTracing('0.0.0')).toBeNull();
  });

  it('waits for the export of the last spans, and not for ever', async () => {
    const tracer = {} as Tracer;
    const flushed: string[] = [];
    await new Tracing(tracer, async () => flushed.push('spans')).flush();
    expect(flushed).toEqual(['spans']);
    await new Tracing(tracer, () => Promise.reject(new Error('no collector'))).flush();
    await new Tracing(tracer, () => new Promise(() => undefined)).flush();
  });
});
