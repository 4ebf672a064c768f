import { contract } from '../../contract/index.ts';
import { builder } from '../builder.ts';
import { BulkActionPayload, type BulkActionResult } from '../bulk/types.ts';
import { DeferScope } from '../enums.ts';
import { ConflictError, InvalidRequestError, NotFoundError, ValidationError } from '../errors.ts';
import { checked, idOf, refusing } from '../input.ts';
import type { JobRow } from '../loaders.ts';
import { PRICE } from '../prices.ts';
import { Job } from '../refs.ts';
import { JobPayload, jobAfter } from './after-change.ts';
import { JobFilterInput, toJobFilter } from './filter.ts';

const ExtendAckPayload = builder.objectRef<{ job: JobRow; deadline: Date }>('ExtendAckPayload').implement({
  description: 'The job and its new deadline.',
  fields: (t) => ({
    job: t.field({ type: Job, description: 'The job.', resolve: ({ job }) => job }),
    deadline: t.expose('deadline', { type: 'DateTime', description: 'When it times out now.' }),
  }),
});

const ATTEMPT = "The delivery's `attempt`: refused when another one is under way. Without it, whichever is.";

builder.mutationFields((t) => ({
  ackJob: t.field({
    type: JobPayload,
    description: 'Reports success of a job that is awaiting it.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Of the job.' }),
      attempt: t.arg.int({ description: ATTEMPT }),
    },
    resolve: (_root, { id, ...input }, context) =>
      refusing(async () => {
        const asked = checked(contract.jobs.ack.body, optional(input));
        await context.services.jobs.ack(context.account, idOf(id, 'job'), asked);
        return jobAfter(context, id);
      }),
  }),
  nackJob: t.field({
    type: JobPayload,
    description: 'Reports failure of a job that is awaiting it.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Of the job.' }),
      retryable: t.arg.boolean({ required: true, defaultValue: true, description: 'False: dead at once.' }),
      reason: t.arg.string({ description: 'For the history; at most 1000 characters.' }),
      attempt: t.arg.int({ description: ATTEMPT }),
    },
    resolve: (_root, { id, ...input }, context) =>
      refusing(async () => {
        const { reason = null, ...asked } = checked(contract.jobs.nack.body, optional(input));
        await context.services.jobs.nack(context.account, idOf(id, 'job'), { ...asked, reason });
        return jobAfter(context, id);
      }),
  }),
  deferJob: t.field({
    type: JobPayload,
    description: 'Reports backpressure: holds the job, or its whole queue.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Of the job.' }),
      retryAfter: t.arg.float({ required: true, description: 'Seconds; at least 0.' }),
      scope: t.arg({ type: DeferScope, required: true, defaultValue: 'queue', description: 'What is held.' }),
      reason: t.arg.string({ description: 'For the history; at most 1000 characters.' }),
      attempt: t.arg.int({ description: ATTEMPT }),
    },
    resolve: (_root, { id, ...input }, context) =>
      refusing(async () => {
        const { reason = null, ...asked } = checked(contract.jobs.defer.body, optional(input));
        await context.services.jobs.defer(context.account, idOf(id, 'job'), { ...asked, reason });
        return jobAfter(context, id);
      }),
  }),
  extendAck: t.field({
    type: ExtendAckPayload,
    description: 'Gives a worker more time to report, and lets it say how far it is.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Of the job.' }),
      seconds: t.arg.float({ required: true, description: 'From now, at least so long; 0.001 to 86400.' }),
      progress: t.arg.string({ description: 'How far it is; at most 1000 characters.' }),
      attempt: t.arg.int({ description: ATTEMPT }),
    },
    resolve: (_root, { id, seconds, progress, attempt }, context) =>
      refusing(async () => {
        const { services, account } = context;
        const deadline = await services.jobs.extendAck(account, idOf(id, 'job'), seconds, progress ?? null, attempt);
        return { ...(await jobAfter(context, id)), deadline };
      }),
  }),
  cancelJob: t.field({
    type: JobPayload,
    description: 'Ends a job that waits or awaits an ack; it leaves no dead letter.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Of the job.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => jobAfter(context, await context.services.jobs.cancel(context.account, idOf(id, 'job')))),
  }),
  runNow: t.field({
    type: JobPayload,
    description: 'Makes a waiting job due now. Pause, hold, cap and rate limit still apply.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Of the job.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => jobAfter(context, await context.services.jobs.runNow(context.account, idOf(id, 'job')))),
  }),
  cancelJobs: t.field({
    type: BulkActionPayload,
    complexity: PRICE.bulk,
    description: 'Ends all waiting jobs that match, and those that await an ack; a bulk action.',
    errors: { types: [ValidationError, InvalidRequestError] },
    args: {
      filter: t.arg({ type: JobFilterInput, required: true, description: 'Which ones.' }),
      all: t.arg.boolean({ required: true, defaultValue: false, description: 'Has to be true for an empty filter.' }),
      dryRun: t.arg.boolean({ required: true, defaultValue: false, description: 'Only count.' }),
    },
    resolve: (_root, { filter, all, dryRun }, { services, account }) =>
      refusing(async (): Promise<BulkActionResult> => {
        const jobs = toJobFilter(filter);
        if (dryRun) return { matched: await services.bulk.countCancel(account, jobs, all), actionId: null };
        return { matched: null, actionId: await services.bulk.startCancel(account, jobs, all) };
      }),
  }),
}));

/** REST leaves out what is not given. */
function optional<T extends { reason?: string | null | undefined; attempt?: number | null | undefined }>(input: T) {
  const { reason, attempt, ...rest } = input;
  return { ...rest, ...(reason == null ? {} : { reason }), ...(attempt == null ? {} : { attempt }) };
}
