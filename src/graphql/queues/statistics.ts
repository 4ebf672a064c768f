import { adviceOf, QUEUE_WARNINGS, type QueueHealth as QueueHealthShape } from '../../domain/health.ts';
import type { Percentiles as PercentilesShape } from '../../domain/histogram.ts';
import type { TimelinePoint as TimelinePointShape } from '../../domain/statistics.ts';
import type { QueueDepth as QueueDepthShape, QueueUse } from '../../services/insight/queues.ts';
import { builder } from '../builder.ts';
import { QueueWarning } from '../enums.ts';
import { PRICE } from '../prices.ts';

/** For descriptions of the time of the last delivery. */
export const LAST_DELIVERY =
  'If the job has been removed since, this is the start of the five minutes in which the attempt ended.';

export const Percentiles = builder.objectRef<PercentilesShape>('Percentiles').implement({
  description:
    'Percentiles of a duration in milliseconds, within 10 % of the true values. Each is null if nothing was measured.',
  fields: (t) => ({
    p50: t.exposeFloat('p50', { nullable: true, description: 'Median: half of the measured values are lower.' }),
    p95: t.exposeFloat('p95', {
      nullable: true,
      description: '95th percentile: 95 % of the measured values are lower.',
    }),
    p99: t.exposeFloat('p99', {
      nullable: true,
      description: '99th percentile: 99 % of the measured values are lower.',
    }),
  }),
});

export const QueueDepth = builder.objectRef<QueueDepthShape>('QueueDepth').implement({
  description: 'Number of jobs of a queue by state, and when the next of them move.',
  fields: (t) => ({
    due: t.exposeInt('due', { description: 'Pending jobs whose `scheduledFor` has come.' }),
    scheduled: t.exposeInt('scheduled', { description: 'Pending jobs that wait for their first delivery.' }),
    retrying: t.exposeInt('retrying', { description: 'Pending jobs in back-off.' }),
    held: t.exposeInt('held', { description: 'Pending jobs that wait for the end of a hold of their own.' }),
    processing: t.exposeInt('processing', { description: 'Jobs that are being delivered.' }),
    awaitingAck: t.exposeInt('awaiting_ack', {
      description: 'Jobs whose receipt is confirmed and whose outcome is not yet reported.',
    }),
    completed: t.exposeInt('completed', { description: 'Completed jobs that are not past retention.' }),
    dead: t.exposeInt('dead', { description: 'Dead jobs that are not past retention.' }),
    nextDueAt: t.expose('nextDueAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time at which the next job becomes due of those that are scheduled, in back-off or held; null if there are none.',
    }),
    firstAckDeadline: t.expose('firstAckDeadline', {
      type: 'DateTime',
      nullable: true,
      description: 'First ack deadline of the jobs that await a report; null if no job does.',
    }),
  }),
});

export const TimelinePoint = builder.objectRef<TimelinePointShape>('TimelinePoint').implement({
  description: 'Attempts that ended in a time span, and jobs published in it.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Start of the time span.' }),
    success: t.exposeInt('success', { description: 'Number of attempts that succeeded.' }),
    failed: t.exposeInt('failed', { description: 'Number of attempts that failed.' }),
    nacked: t.exposeInt('nacked', { description: 'Number of attempts that the worker nacked.' }),
    deferred: t.exposeInt('deferred', {
      description:
        'Number of attempts that put their job off: by backpressure, or as failed probes of an open breaker.',
    }),
    dead: t.exposeInt('dead', {
      description: 'Number of attempts after which the job was dead. The other members count these attempts too.',
    }),
    duration: t.field({
      type: Percentiles,
      description: 'Durations of the deliveries.',
      resolve: ({ duration }) => duration,
    }),
    wait: t.field({
      type: Percentiles,
      description: 'Times from `scheduledFor` to the start of the delivery.',
      resolve: ({ wait }) => wait,
    }),
    published: t.int({
      complexity: PRICE.published,
      description: 'Number of jobs published in the time span, whatever became of them.',
      resolve: ({ published }) => published ?? 0,
    }),
  }),
});

type WarningShape = QueueHealthShape['warnings'][number] & { queueId: string };

const HealthWarning = builder.objectRef<WarningShape>('HealthWarning').implement({
  description: 'A warning about the receiver of a queue.',
  fields: (t) => ({
    warning: t.field({ type: QueueWarning, description: 'Kind of the problem.', resolve: ({ warning }) => warning }),
    message: t.exposeString('message', { description: 'The observed problem, and what to do about it.' }),
    firstSeen: t.field({
      type: 'DateTime',
      complexity: PRICE.warningStart,
      nullable: true,
      description: 'Start of the five minutes in which the problem began; null if it has lasted for more than a day.',
      resolve: async ({ warning, queueId }, _args, { loaders }) =>
        (await loaders.warningStarts.load(queueId))?.get(warning) ?? null,
    }),
  }),
});

export const LastFailure = builder.objectRef<NonNullable<QueueHealthShape['lastFailure']>>('LastFailure').implement({
  description: 'The last failed attempt of a queue, or of all queues of a receiver, and what came after it.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Time at which the attempt ended.' }),
    succeededSince: t.exposeInt('succeeded', { description: 'Number of attempts that have succeeded since.' }),
    error: t.string({
      nullable: true,
      description:
        'Error code of the attempt, such as `tls_error` or `HTTP 500`; null if a worker gave a reason of its own, and always null in `ReceiverHealth`.',
      resolve: ({ error }) => error ?? null,
    }),
    webhookStatusCode: t.int({
      nullable: true,
      description: 'Status code of the receiver’s answer; null without an answer, and always in `ReceiverHealth`.',
      resolve: ({ webhookStatusCode }) => webhookStatusCode ?? null,
    }),
  }),
});

export const PastAttempts = builder.objectRef<NonNullable<QueueHealthShape['past']>>('PastAttempts').implement({
  description:
    'The last attempts of a queue, or of the failing queues of a receiver, if they ended in failure and the counts of the last hour do not show them.',
  fields: (t) => ({
    attempts: t.exposeInt('attempts', { description: 'Number of attempts.' }),
    failed: t.exposeInt('failed', { description: 'Number of attempts that failed or that the worker nacked.' }),
    answered3xx: t.exposeInt('answered3xx', { description: 'Number of 3xx answers.' }),
    answered4xx: t.exposeInt('answered4xx', { description: 'Number of 4xx answers, without 401 and 429.' }),
    answered5xx: t.exposeInt('answered5xx', { description: 'Number of 5xx answers, without 503 and 529.' }),
    unauthorized: t.exposeInt('unauthorized', { description: 'Number of 401 answers.' }),
    unanswered: t.exposeInt('unanswered', { description: 'Number of attempts without an answer.' }),
  }),
});

export const QueueHealth = builder
  .objectRef<QueueHealthShape & { queueId: string; usesAttempts: boolean }>('QueueHealth')
  .implement({
    description: 'Attempts of the last hour, grouped by the receiver’s answer, and warnings about the receiver.',
    fields: (t) => ({
      answered2xx: t.exposeInt('answered2xx', { description: 'Number of 2xx answers.' }),
      answered3xx: t.exposeInt('answered3xx', { description: 'Number of 3xx answers. Redirects are never followed.' }),
      answered4xx: t.exposeInt('answered4xx', { description: 'Number of 4xx answers, without 401 and 429.' }),
      answered5xx: t.exposeInt('answered5xx', { description: 'Number of 5xx answers, without 503 and 529.' }),
      unauthorized: t.exposeInt('unauthorized', {
        description: 'Number of 401 answers. The receiver most likely rejects the signature.',
      }),
      backpressure: t.exposeInt('backpressure', { description: 'Number of 429, 503 and 529 answers.' }),
      unanswered: t.exposeInt('unanswered', {
        description: 'Number of attempts without an answer in time, or without any answer.',
      }),
      attempts: t.exposeInt('attempts', { description: 'Number of attempts that ended.' }),
      failed: t.exposeInt('failed', {
        description:
          'Number of attempts that failed or that the worker nacked, including failed probes of an open breaker. In ack mode, most failed attempts that are not probes have a 2xx answer.',
      }),
      deferred: t.exposeInt('deferred', {
        description:
          'Number of attempts that ended in backpressure: by the receiver’s answer, or because the worker deferred the job. Failed probes of an open breaker are in `failed`.',
      }),
      duration: t.field({
        type: Percentiles,
        description: 'Durations of the deliveries.',
        resolve: ({ duration }) => duration,
      }),
      lastFailure: t.field({
        type: LastFailure,
        nullable: true,
        description:
          'The last failure of a queue with the warning `FAILING` or `SIGNATURE_REJECTED`, and of one that had it in the last hour, until attempts succeeded; null for other queues.',
        resolve: ({ lastFailure }) => lastFailure,
      }),
      past: t.field({
        type: PastAttempts,
        nullable: true,
        description:
          'The last attempts of the queue, if they ended in failure and the counts of the last hour do not show them. The warnings `FAILING` and `SIGNATURE_REJECTED` are about these attempts. Without such a warning, all of these attempts failed, but they are too few for a warning. Null otherwise.',
        resolve: ({ past }) => past,
      }),
      warnings: t.field({
        type: [HealthWarning],
        complexity: { field: 1, multiplier: QUEUE_WARNINGS.length },
        description:
          'Problems of the receiver that need attention; empty if there are none. `FAILING` and `SIGNATURE_REJECTED` depend on the hour that ends with the last attempt, so they do not end because time passes. They end with ten successes since the last failure, or with one success if the hour that ends with it has too few failures for a warning.',
        resolve: ({ warnings, queueId, usesAttempts, past }) =>
          warnings.map((one) => ({ ...one, message: adviceOf(one, usesAttempts && past === null), queueId })),
      }),
    }),
  });

export const RateWindow = builder.objectRef<NonNullable<QueueUse['rate']>>('RateWindow').implement({
  description: 'The present window of a queue’s rate limit.',
  fields: (t) => ({
    used: t.exposeInt('used', { description: 'Number of deliveries that started in this window.' }),
    max: t.exposeInt('max', { description: 'Number of deliveries that may start in this window.' }),
    resetsAt: t.expose('resetsAt', { type: 'DateTime', description: 'Start of the next window.' }),
  }),
});
