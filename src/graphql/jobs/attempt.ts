import type { Attempt as AttemptRow } from '../../db/generated/client.ts';
import type { AttemptStatus as Status } from '../../domain/job.ts';
import { builder } from '../builder.ts';
import { AttemptStatus } from '../enums.ts';

export const Attempt = builder.objectRef<AttemptRow>('Attempt').implement({
  description: 'One ended attempt to deliver a job.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', {
      description: 'Number of the delivery, from 1. A redelivery after a hold repeats it.',
    }),
    status: t.field({
      type: AttemptStatus,
      description: 'How it ended.',
      resolve: (attempt) => attempt.status as Status,
    }),
    error: t.exposeString('error', { nullable: true, description: 'What went wrong, short and stable.' }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', {
      nullable: true,
      description: 'The webhook’s answer; null when there was none.',
    }),
    at: t.expose('timestamp', { type: 'DateTime', description: 'When it ended.' }),
    durationMs: t.exposeInt('durationMs', {
      nullable: true,
      description: 'How long the delivery took, in milliseconds.',
    }),
    waitMs: t.exposeInt('waitMs', {
      nullable: true,
      description: 'How long after its time the delivery began, in milliseconds.',
    }),
    responseBody: t.string({
      nullable: true,
      description: 'The first 4 KiB of the webhook’s answer.',
      resolve: ({ responseBody }, _args, { texts }) => (responseBody === null ? null : texts.take(responseBody)),
    }),
  }),
});
