import type {
  BoundedCount,
  JobTimelinePoint as JobTimelinePointShape,
  PayloadValue as PayloadValueShape,
  Percentiles as PercentilesShape,
  QueueDepth as QueueDepthShape,
  QueueHealth as QueueHealthShape,
  QueueUse,
  TimelineInput,
  TimelinePoint as TimelinePointShape,
} from '../../services/dashboard.ts';
import { builder } from '../builder.ts';
import { QueueWarning } from '../enums.ts';

export const Percentiles = builder.objectRef<PercentilesShape>('Percentiles').implement({
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

export const Count = builder.objectRef<BoundedCount>('Count').implement({
  description: 'A count that stops at a maximum.',
  fields: (t) => ({
    count: t.exposeInt('count', { description: 'How many, up to the maximum.' }),
    exact: t.exposeBoolean('exact', { description: 'False when there are more.' }),
  }),
});

export const JobTimelinePoint = builder.objectRef<JobTimelinePointShape>('JobTimelinePoint').implement({
  description: 'Jobs published in a span of time, by their present status.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Start of the span.' }),
    pending: t.exposeInt('pending', { description: 'Pending now.' }),
    processing: t.exposeInt('processing', { description: 'Being delivered now.' }),
    awaitingAck: t.exposeInt('awaitingAck', { description: 'Awaiting a report now.' }),
    completed: t.exposeInt('completed', { description: 'Completed by now.' }),
    dead: t.exposeInt('dead', { description: 'Dead by now.' }),
  }),
});

export const PayloadSuggestion = builder.objectRef<PayloadValueShape>('PayloadSuggestion').implement({
  description: 'A path or a value that occurs in recent payloads.',
  fields: (t) => ({
    value: t.exposeString('value', { description: 'The path, or the value as JSON text.' }),
    count: t.exposeInt('count', { description: 'In how many of the payloads that were looked at.' }),
  }),
});

const DAY_MS = 86_400_000;

interface TimelineArgs {
  from?: Date | null | undefined;
  to?: Date | null | undefined;
  bucketSeconds: number;
}

/** The last day by default. To the minute, so that fields that ask at the same time share a statement. */
export function toTimeline({ from, to, bucketSeconds }: TimelineArgs, now: Date): TimelineInput {
  const end = to ?? new Date(Math.ceil(now.getTime() / 60_000) * 60_000);
  return { from: from ?? new Date(end.getTime() - DAY_MS), to: end, bucketSeconds };
}
