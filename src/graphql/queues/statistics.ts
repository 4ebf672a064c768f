import type { QueueHealth as QueueHealthShape } from '../../domain/health.ts';
import type { Percentiles as PercentilesShape } from '../../domain/histogram.ts';
import type { TimelinePoint as TimelinePointShape } from '../../domain/statistics.ts';
import type { QueueDepth as QueueDepthShape, QueueUse } from '../../services/insight/queues.ts';
import { builder } from '../builder.ts';
import { QueueWarning } from '../enums.ts';

const Percentiles = builder.objectRef<PercentilesShape>('Percentiles').implement({
  description: 'Milliseconds, within 10 % of the true value; null when nothing was measured.',
  fields: (t) => ({
    p50: t.exposeFloat('p50', { nullable: true, description: 'Half were faster.' }),
    p95: t.exposeFloat('p95', { nullable: true, description: '95 % were faster.' }),
    p99: t.exposeFloat('p99', { nullable: true, description: '99 % were faster.' }),
  }),
});

export const QueueDepth = builder.objectRef<QueueDepthShape>('QueueDepth').implement({
  description: 'How many jobs of a queue are in which state.',
  fields: (t) => ({
    due: t.exposeInt('due', { description: 'Pending, and their time has come.' }),
    scheduled: t.exposeInt('scheduled', { description: 'Pending, waiting for their first delivery.' }),
    retrying: t.exposeInt('retrying', { description: 'Pending, in backoff.' }),
    held: t.exposeInt('held', { description: 'Pending, held by a defer of their own.' }),
    processing: t.exposeInt('processing', { description: 'Being delivered.' }),
    awaitingAck: t.exposeInt('awaiting_ack', { description: 'Receipt confirmed, outcome not yet reported.' }),
    completed: t.exposeInt('completed', { description: 'Completed and not past retention.' }),
    dead: t.exposeInt('dead', { description: 'Dead and not past retention.' }),
  }),
});

export const TimelinePoint = builder.objectRef<TimelinePointShape>('TimelinePoint').implement({
  description: 'What happened to a queue’s deliveries in a span of time.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Start of the span.' }),
    success: t.exposeInt('success', { description: 'Attempts that succeeded.' }),
    failed: t.exposeInt('failed', { description: 'Attempts that failed.' }),
    nacked: t.exposeInt('nacked', { description: 'Attempts that the worker nacked.' }),
    deferred: t.exposeInt('deferred', { description: 'Attempts that ended in backpressure.' }),
    dead: t.exposeInt('dead', { description: 'Jobs that an attempt left dead; also counted above.' }),
    duration: t.field({ type: Percentiles, description: 'Of the delivery.', resolve: ({ duration }) => duration }),
    wait: t.field({
      type: Percentiles,
      description: 'From `scheduledFor` to the start of the delivery.',
      resolve: ({ wait }) => wait,
    }),
  }),
});

const HealthWarning = builder.objectRef<QueueHealthShape['warnings'][number]>('HealthWarning').implement({
  description: 'Something about the receiver that needs a look.',
  fields: (t) => ({
    warning: t.field({ type: QueueWarning, description: 'What it is.', resolve: ({ warning }) => warning }),
    message: t.exposeString('message', { description: 'What was seen, and what to do.' }),
  }),
});

export const QueueHealth = builder.objectRef<QueueHealthShape>('QueueHealth').implement({
  description: 'How the receiver answered in the last hour.',
  fields: (t) => ({
    answered2xx: t.exposeInt('answered2xx', { description: 'Answers 2xx.' }),
    answered3xx: t.exposeInt('answered3xx', { description: 'Answers 3xx: redirects are never followed.' }),
    answered4xx: t.exposeInt('answered4xx', { description: 'Answers 4xx but 401 and 429.' }),
    answered5xx: t.exposeInt('answered5xx', { description: 'Answers 5xx but 503 and 529.' }),
    unauthorized: t.exposeInt('unauthorized', { description: 'Answers 401: the signature was rejected, most likely.' }),
    backpressure: t.exposeInt('backpressure', { description: 'Answers 429, 503 and 529.' }),
    unanswered: t.exposeInt('unanswered', { description: 'No answer in time, or none at all.' }),
    duration: t.field({ type: Percentiles, description: 'Of the deliveries.', resolve: ({ duration }) => duration }),
    warnings: t.field({
      type: [HealthWarning],
      description: 'What needs a look.',
      resolve: ({ warnings }) => [...warnings],
    }),
  }),
});

export const RateWindow = builder.objectRef<NonNullable<QueueUse['rate']>>('RateWindow').implement({
  description: 'The present window of a rate limit.',
  fields: (t) => ({
    used: t.exposeInt('used', { description: 'Deliveries begun in it.' }),
    max: t.exposeInt('max', { description: 'Deliveries allowed in it.' }),
    resetsAt: t.expose('resetsAt', { type: 'DateTime', description: 'When the next one begins.' }),
  }),
});
