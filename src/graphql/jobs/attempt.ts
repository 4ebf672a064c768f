import type { AttemptStatus as Status } from '../../domain/job.ts';
import { builder } from '../builder.ts';
import { AttemptStatus } from '../enums.ts';
import { Job } from '../refs.ts';

export const Attempt = builder.prismaObject('Attempt', {
  description: 'One ended attempt to deliver a job.',
  fields: (t) => ({
    job: t.field({
      type: Job,
      nullable: true,
      description: 'The job of the attempt; null if it has been removed.',
      resolve: ({ jobId }, _args, { loaders }) => loaders.job.load(jobId),
    }),
    attempt: t.exposeInt('attempt', {
      description: 'Number of the delivery, starting at 1. A redelivery after a hold has the same number.',
    }),
    status: t.field({
      type: AttemptStatus,
      description: 'Outcome of the attempt.',
      resolve: (attempt) => attempt.status as Status,
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Short, stable text of the error, or the `reason` of a nack or defer; null after a success.',
    }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', {
      nullable: true,
      description: 'Status code of the webhook’s answer; null if the webhook did not answer.',
    }),
    at: t.expose('timestamp', { type: 'DateTime', description: 'Time at which the attempt ended.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Start of the delivery; null if it was not recorded.',
    }),
    retryAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Earliest time of the retry, as decided when the attempt ended; null if the job was not retried after a back-off.',
      resolve: ({ status, nextAt }) => (status === 'deferred' ? null : nextAt),
    }),
    heldUntil: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'End of the hold that the attempt caused, as decided when it ended; null if it caused none.',
      resolve: ({ status, nextAt }) => (status === 'deferred' ? nextAt : null),
    }),
    durationMs: t.exposeInt('durationMs', {
      nullable: true,
      description: 'Duration of the delivery in milliseconds; null if no delivery answered or failed in this attempt.',
    }),
    waitMs: t.exposeInt('waitMs', {
      nullable: true,
      description:
        'Time from the job’s `scheduledFor` to the start of the delivery, in milliseconds; null if no delivery started.',
    }),
    responseBody: t.string({
      nullable: true,
      description:
        'First 4 KiB of the body of the webhook’s answer; null if none was stored or it cannot be decrypted.',
      resolve: ({ responseBody }, _args, { texts }) => (responseBody === null ? null : texts.take(responseBody)),
    }),
  }),
});
