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
import { JobFilterInput, jobFilterOf } from './filter.ts';

const ExtendAckPayload = builder.objectRef<{ job: JobRow; deadline: Date }>('ExtendAckPayload').implement({
  description: 'The job and its new deadline.',
  fields: (t) => ({
    job: t.field({ type: Job, description: 'The job.', resolve: ({ job }) => job }),
    deadline: t.expose('deadline', {
      type: 'DateTime',
      description: 'Time at which the job now times out without a report.',
    }),
  }),
});

const ATTEMPT =
  'The `attempt` of the delivery. The request is refused if another attempt is in progress. Without it, the request applies to the present attempt.';

builder.mutationFields((t) => ({
  ackJob: t.field({
    type: JobPayload,
    description: 'Reports that a job that is awaiting an ack succeeded.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the job.' }),
      attempt: t.arg.int({ description: ATTEMPT }),
    },
    resolve: (_root, { id, ...input }, context) =>
      refusing(async () => {
        const report = checked(contract.jobs.ack.body, optional(input));
        await context.services.jobs.ack(context.account, idOf(id, 'job'), { ...report, trace: context.trace });
        return jobAfter(context, id);
      }),
  }),
  nackJob: t.field({
    type: JobPayload,
    description: 'Reports that a job that is awaiting an ack failed.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the job.' }),
      retryable: t.arg.boolean({
        required: true,
        defaultValue: true,
        description: 'True: the job is retried after its back-off. False: the job is dead at once.',
      }),
      reason: t.arg.string({ description: 'Reason for the history; at most 1000 characters.' }),
      attempt: t.arg.int({ description: ATTEMPT }),
    },
    resolve: (_root, { id, ...input }, context) =>
      refusing(async () => {
        const { reason = null, ...report } = checked(contract.jobs.nack.body, optional(input));
        await context.services.jobs.nack(context.account, idOf(id, 'job'), { ...report, reason, trace: context.trace });
        return jobAfter(context, id);
      }),
  }),
  deferJob: t.field({
    type: JobPayload,
    description: 'Reports backpressure for a job that is awaiting an ack: holds the job, or its whole queue.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the job.' }),
      retryAfter: t.arg.float({ required: true, description: 'Length of the hold in seconds; at least 0.' }),
      scope: t.arg({
        type: DeferScope,
        required: true,
        defaultValue: 'queue',
        description: 'Whether the job or its whole queue is held.',
      }),
      reason: t.arg.string({ description: 'Reason for the history; at most 1000 characters.' }),
      attempt: t.arg.int({ description: ATTEMPT }),
    },
    resolve: (_root, { id, ...input }, context) =>
      refusing(async () => {
        const { reason = null, ...report } = checked(contract.jobs.defer.body, optional(input));
        await context.services.jobs.defer(context.account, idOf(id, 'job'), {
          ...report,
          reason,
          trace: context.trace,
        });
        return jobAfter(context, id);
      }),
  }),
  extendAck: t.field({
    type: ExtendAckPayload,
    description: 'Extends the ack deadline of a job, and stores the progress that its worker reports.',
    errors: { types: [ValidationError, NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the job.' }),
      seconds: t.arg.float({
        required: true,
        description:
          'Time from now to the new ack deadline in seconds, 0.001 to 86400. An earlier deadline than the present one has no effect.',
      }),
      progress: t.arg.string({ description: 'Text about the progress of the worker; at most 1000 characters.' }),
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
    description: 'Cancels a job that is pending or awaiting an ack. It becomes dead and leaves no dead letter.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the job.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => jobAfter(context, await context.services.jobs.cancel(context.account, idOf(id, 'job')))),
  }),
  runNow: t.field({
    type: JobPayload,
    description: 'Makes a pending job due now. Pause, hold, concurrency and rate limit of its queue still apply.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the job.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => jobAfter(context, await context.services.jobs.runNow(context.account, idOf(id, 'job')))),
  }),
  cancelJobs: t.field({
    type: BulkActionPayload,
    complexity: PRICE.bulk,
    description: 'Starts a bulk action that cancels all matching jobs that are pending or awaiting an ack.',
    errors: { types: [ValidationError, InvalidRequestError] },
    args: {
      filter: t.arg({ type: JobFilterInput, required: true, description: 'The jobs to cancel.' }),
      all: t.arg.boolean({ required: true, defaultValue: false, description: 'Must be true if the filter is empty.' }),
      dryRun: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'True: only count the matching jobs.',
      }),
    },
    resolve: (_root, { filter, all, dryRun }, context) =>
      refusing(async (): Promise<BulkActionResult> => {
        const { services, account } = context;
        const jobs = await jobFilterOf(context, filter);
        if (dryRun) return { matched: await services.bulk.countCancel(account, jobs, all), actionId: null };
        return { matched: null, actionId: await services.bulk.startCancel(account, jobs, all) };
      }),
  }),
  runJobsNow: t.field({
    type: BulkActionPayload,
    complexity: PRICE.bulk,
    description:
      'Starts a bulk action that makes all matching jobs due that are pending and not yet due. Pause, hold, concurrency and rate limit of their queues still apply.',
    errors: { types: [ValidationError, InvalidRequestError] },
    args: {
      filter: t.arg({ type: JobFilterInput, required: true, description: 'The jobs to make due.' }),
      all: t.arg.boolean({ required: true, defaultValue: false, description: 'Must be true if the filter is empty.' }),
      dryRun: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'True: only count the matching jobs.',
      }),
      ratePerSecond: t.arg.int({
        description: 'Maximum number of jobs per second, at most 100 000; no limit by default.',
      }),
    },
    resolve: (_root, { filter, all, dryRun, ratePerSecond }, context) =>
      refusing(async (): Promise<BulkActionResult> => {
        const { services, account } = context;
        const input = { filter: await jobFilterOf(context, filter), all, ratePerSecond: ratePerSecond ?? null };
        if (dryRun) return { matched: await services.bulk.countRunNow(account, input), actionId: null };
        return { matched: null, actionId: await services.bulk.startRunNow(account, input) };
      }),
  }),
}));

/** Leaves out what is not given, as the REST schemas that check the input require. */
function optional<T extends { reason?: string | null | undefined; attempt?: number | null | undefined }>(input: T) {
  const { reason, attempt, ...rest } = input;
  return { ...rest, ...(reason == null ? {} : { reason }), ...(attempt == null ? {} : { attempt }) };
}
