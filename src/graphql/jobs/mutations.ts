import { contract } from '../../contract/index.ts';
import { builder } from '../builder.ts';
import { BulkActionPayload, type BulkActionResult } from '../bulk/mutations.ts';
import type { GraphQLContext } from '../context.ts';
import { DeferScope } from '../enums.ts';
import {
  ConflictError,
  InvalidRequestError,
  LimitReachedError,
  NotFoundError,
  typed,
  UnavailableError,
  ValidationError,
} from '../errors.ts';
import { JobFilterInput, toJobFilter } from '../filters.ts';
import { checked, idOf, refusing } from '../input.ts';
import type { JobRow } from '../loaders.ts';
import { PRICE } from '../prices.ts';
import { Job } from '../refs.ts';
import { JobPayload, jobAfter } from './payload-input.ts';

const PublishInput = builder.inputType('PublishInput', {
  description: 'A job to publish. Give `payload` or, to keep every byte of it, `payloadText`.',
  fields: (t) => ({
    payload: t.field({ type: 'JSONObject', description: 'A JSON object; numbers pass through JavaScript.' }),
    payloadText: t.string({ description: 'JSON text of an object, delivered byte for byte.' }),
    idempotencyKey: t.string({ description: '1 to 255 characters; an earlier job with this key is returned instead.' }),
    delay: t.float({ description: 'Seconds until the first delivery; 0 to 86400.' }),
  }),
});

const PublishJobsInput = builder.inputType('PublishJobsInput', {
  description: 'A job to publish, and where.',
  fields: (t) => ({
    queue: t.string({ required: true, description: 'Name of the queue.' }),
    job: t.field({ type: PublishInput, required: true, description: 'The job.' }),
  }),
});

const PublishJobPayload = builder.objectRef<{ id: string; created: boolean }>('PublishJobPayload').implement({
  description: 'The job that was published, or the earlier one with the same key.',
  fields: (t) => ({
    created: t.exposeBoolean('created', { description: 'False when the idempotency key matched an earlier job.' }),
    job: t.field({
      type: Job,
      description: 'The job.',
      resolve: async ({ id }, _args, context) => (await jobAfter(context, id)).job,
    }),
  }),
});

const LISTED = [ValidationError, NotFoundError, LimitReachedError, UnavailableError] as const;
type Refused = InstanceType<(typeof LISTED)[number]>;
type PublishAnswer = { id: string; created: boolean } | Refused;

/** The types of refusals among answers: these are no errors any more. */
const typeOfListed = new WeakMap<object, (typeof LISTED)[number]>();

const PublishAnswerRef = builder.unionType('PublishAnswer', {
  description: 'What became of one job of `publishJobs`: as `publishJob` would have answered.',
  types: [PublishJobPayload, ValidationError, NotFoundError, LimitReachedError, UnavailableError],
  resolveType: (answer) => typeOfListed.get(answer) ?? PublishJobPayload,
});

const PublishJobsPayload = builder.objectRef<{ answers: PublishAnswer[] }>('PublishJobsPayload').implement({
  description: 'An answer per job, in order.',
  fields: (t) => ({
    answers: t.field({ type: [PublishAnswerRef], description: 'One per job.', resolve: ({ answers }) => answers }),
  }),
});

const ExtendAckPayload = builder.objectRef<{ job: JobRow; deadline: Date }>('ExtendAckPayload').implement({
  description: 'The job and its new deadline.',
  fields: (t) => ({
    job: t.field({ type: Job, description: 'The job.', resolve: ({ job }) => job }),
    deadline: t.expose('deadline', { type: 'DateTime', description: 'When it times out now.' }),
  }),
});

type Given = typeof PublishInput.$inferInput;

/** @throws ValidationError when not exactly one form of payload is given */
function toPublish(queueName: string, { payload, payloadText, idempotencyKey, delay }: Given) {
  if ((payload == null) === (payloadText == null)) {
    const message = 'give either payload or payloadText';
    throw new ValidationError(message, [], { payload: [message] });
  }
  return {
    queueName,
    payload: payloadText ?? JSON.stringify(payload),
    idempotencyKey: idempotencyKey ?? undefined,
    delay: delay ?? undefined,
  };
}

async function publishOne({ operations, account }: GraphQLContext, queue: string, input: Given) {
  const [answer] = await operations.publishJobs(account, [toPublish(queue, input)]);
  if (answer === undefined) throw new Error('a publish was not answered');
  if (answer.outcome === 'refused') throw answer.error;
  return { id: answer.id, created: answer.outcome === 'created' };
}

/**
 * A refusal with its members and not itself: an `Error` in a list becomes an error of the whole list.
 * @throws what nobody could expect: then the answer to all of them is an error
 */
function listed(error: unknown): Refused {
  const refusal = typed(error);
  const type = LISTED.find((one) => refusal instanceof one);
  if (type === undefined) throw error;
  const members = { ...(refusal as Refused), message: (refusal as Refused).message };
  typeOfListed.set(members, type);
  return members as Refused;
}

async function publishMany(
  { operations, account }: GraphQLContext,
  jobs: readonly (typeof PublishJobsInput.$inferInput)[],
): Promise<PublishAnswer[]> {
  const answers: PublishAnswer[] = [];
  const given: [n: number, job: ReturnType<typeof toPublish>][] = [];
  for (const [n, { queue, job }] of jobs.entries()) {
    try {
      given.push([n, toPublish(queue, job)]);
    } catch (error) {
      answers[n] = listed(error);
    }
  }
  const published = await operations.publishJobs(
    account,
    given.map(([, job]) => job),
  );
  for (const [index, answer] of published.entries()) {
    const [n] = given[index] ?? [];
    if (n === undefined) continue;
    answers[n] =
      answer.outcome === 'refused' ? listed(answer.error) : { id: answer.id, created: answer.outcome === 'created' };
  }
  return answers;
}

const ATTEMPT = "The delivery's `attempt`: refused when another one is under way. Without it, whichever is.";

builder.mutationFields((t) => ({
  publishJob: t.field({
    type: PublishJobPayload,
    description: 'Publishes a job.',
    errors: { types: [ValidationError, NotFoundError, LimitReachedError] },
    args: {
      queue: t.arg.string({ required: true, description: 'Name of the queue.' }),
      input: t.arg({ type: PublishInput, required: true, description: 'The job.' }),
    },
    resolve: (_root, { queue, input }, context) => refusing(() => publishOne(context, queue, input)),
  }),
  publishJobs: t.field({
    type: PublishJobsPayload,
    description: 'Publishes up to 1000 jobs; each is accepted or refused by itself.',
    complexity: ({ jobs }) => ({ field: 2 * (jobs?.length ?? 0), multiplier: Math.max((jobs?.length ?? 0) / 10, 1) }),
    errors: { types: [ValidationError, InvalidRequestError] },
    args: { jobs: t.arg({ type: [PublishJobsInput], required: true, description: 'The jobs.' }) },
    resolve: (_root, { jobs }, context) => refusing(async () => ({ answers: await publishMany(context, jobs) })),
  }),
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
        await context.services.ackJob(context.account, idOf(id, 'job'), asked);
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
        await context.services.nackJob(context.account, idOf(id, 'job'), { ...asked, reason });
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
        await context.services.deferJob(context.account, idOf(id, 'job'), { ...asked, reason });
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
        const { operations, account } = context;
        const deadline = await operations.extendAck(account, idOf(id, 'job'), seconds, progress ?? null, attempt);
        return { ...(await jobAfter(context, id)), deadline };
      }),
  }),
  cancelJob: t.field({
    type: JobPayload,
    description: 'Ends a job that waits or awaits an ack; it leaves no dead letter.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Of the job.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => jobAfter(context, await context.operations.cancelJob(context.account, idOf(id, 'job')))),
  }),
  runNow: t.field({
    type: JobPayload,
    description: 'Makes a waiting job due now. Pause, hold, cap and rate limit still apply.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Of the job.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => jobAfter(context, await context.operations.runNow(context.account, idOf(id, 'job')))),
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
    resolve: (_root, { filter, all, dryRun }, { operations, account }) =>
      refusing(async (): Promise<BulkActionResult> => {
        const jobs = toJobFilter(filter);
        if (dryRun) return { matched: await operations.countCancel(account, jobs, all), actionId: null };
        return { matched: null, actionId: await operations.startCancel(account, jobs, all) };
      }),
  }),
}));

/** REST leaves out what is not given. */
function optional<T extends { reason?: string | null | undefined; attempt?: number | null | undefined }>(input: T) {
  const { reason, attempt, ...rest } = input;
  return { ...rest, ...(reason == null ? {} : { reason }), ...(attempt == null ? {} : { attempt }) };
}
