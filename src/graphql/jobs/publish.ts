import { counts } from '../../telemetry/counts/counts.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import {
  InvalidRequestError,
  LimitReachedError,
  NotFoundError,
  typed,
  UnavailableError,
  ValidationError,
} from '../errors.ts';
import { refusing } from '../input.ts';
import { Job } from '../refs.ts';
import { jobAfter } from './after-change.ts';

const PublishInput = builder.inputType('PublishInput', {
  description: 'A job to publish. Give either `payload` or `payloadText`, which keeps every byte.',
  fields: (t) => ({
    payload: t.field({
      type: 'JSONObject',
      description: 'The payload as a JSON object. Its numbers are read as JavaScript numbers.',
    }),
    payloadText: t.string({
      description: 'The JSON text of the payload, which must be an object; delivered byte for byte.',
    }),
    idempotencyKey: t.string({
      description:
        'Idempotency key, 1 to 255 characters. If an earlier job of the queue has it, that job is returned and none is created.',
    }),
    delay: t.float({ description: 'Time until the first delivery in seconds; 0 to 86400.' }),
  }),
});

const PublishJobsInput = builder.inputType('PublishJobsInput', {
  description: 'A job to publish, and its queue.',
  fields: (t) => ({
    queue: t.string({ required: true, description: 'Name of the queue.' }),
    job: t.field({ type: PublishInput, required: true, description: 'The job.' }),
  }),
});

interface PublishedOne {
  id: string;
  created: boolean;
  payloadDiffers: boolean;
}

const PublishJobPayload = builder.objectRef<PublishedOne>('PublishJobPayload').implement({
  description: 'The published job, or the earlier job with the same idempotency key.',
  fields: (t) => ({
    created: t.exposeBoolean('created', { description: 'False if the idempotency key matched an earlier job.' }),
    payloadDiffers: t.exposeBoolean('payloadDiffers', {
      description: 'Whether the idempotency key matched an earlier job that has another payload.',
    }),
    job: t.field({
      type: Job,
      description: 'The job.',
      resolve: async ({ id }, _args, context) => (await jobAfter(context, id)).job,
    }),
  }),
});

const LISTED = [ValidationError, NotFoundError, LimitReachedError, UnavailableError] as const;
type Refused = InstanceType<(typeof LISTED)[number]>;
type PublishAnswer = PublishedOne | Refused;

/**
 * Type of each refusal in a list of results. Such a refusal is a plain object, so `instanceof` cannot find its type.
 */
const typeOfListed = new WeakMap<object, (typeof LISTED)[number]>();

const PublishAnswerRef = builder.unionType('PublishAnswer', {
  description: 'The result for one job of `publishJobs`, or the reason why the job was refused.',
  types: [PublishJobPayload, ValidationError, NotFoundError, LimitReachedError, UnavailableError],
  resolveType: (answer) => typeOfListed.get(answer) ?? PublishJobPayload,
});

const PublishJobsPayload = builder.objectRef<{ answers: PublishAnswer[] }>('PublishJobsPayload').implement({
  description: 'The results of `publishJobs`.',
  fields: (t) => ({
    answers: t.field({
      type: [PublishAnswerRef],
      description: 'One result per job, in the order of the jobs.',
      resolve: ({ answers }) => answers,
    }),
  }),
});

type Given = typeof PublishInput.$inferInput;

/** @throws ValidationError when not exactly one form of payload is given */
function toPublish(queueName: string, { payload, payloadText, idempotencyKey, delay }: Given, trace: string | null) {
  if ((payload == null) === (payloadText == null)) {
    const message = 'give either payload or payloadText';
    counts.refusedPublishes.add('invalid');
    throw new ValidationError(message, [], { payload: [message] });
  }
  return {
    queueName,
    payload: payloadText ?? JSON.stringify(payload),
    idempotencyKey: idempotencyKey ?? undefined,
    delay: delay ?? undefined,
    trace,
  };
}

async function publishOne({ services, account, trace }: GraphQLContext, queue: string, input: Given) {
  const [answer] = await services.jobs.publishMany(account, [toPublish(queue, input, trace)]);
  if (answer === undefined) throw new Error('a publish returned no result');
  if (answer.outcome === 'refused') throw answer.error;
  return toPayload(answer);
}

function toPayload({
  id,
  outcome,
  payloadDiffers,
}: {
  id: string;
  outcome: string;
  payloadDiffers: boolean;
}): PublishedOne {
  return { id, created: outcome === 'created', payloadDiffers };
}

/**
 * Copies the members of a refusal into a plain object: an `Error` in a list becomes an error of the whole list.
 * @throws an unexpected error as it is; the whole mutation fails with it
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
  { services, account, trace }: GraphQLContext,
  jobs: readonly (typeof PublishJobsInput.$inferInput)[],
): Promise<PublishAnswer[]> {
  const answers: PublishAnswer[] = [];
  const given: [n: number, job: ReturnType<typeof toPublish>][] = [];
  for (const [n, { queue, job }] of jobs.entries()) {
    try {
      given.push([n, toPublish(queue, job, trace)]);
    } catch (error) {
      answers[n] = listed(error);
    }
  }
  const published = await services.jobs.publishMany(
    account,
    given.map(([, job]) => job),
  );
  for (const [index, answer] of published.entries()) {
    const [n] = given[index] ?? [];
    if (n === undefined) continue;
    answers[n] = answer.outcome === 'refused' ? listed(answer.error) : toPayload(answer);
  }
  return answers;
}

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
    description: 'Publishes up to 1000 jobs. Each job is accepted or refused on its own.',
    complexity: ({ jobs }) => ({ field: 2 * (jobs?.length ?? 0), multiplier: Math.max((jobs?.length ?? 0) / 10, 1) }),
    errors: { types: [ValidationError, InvalidRequestError] },
    args: { jobs: t.arg({ type: [PublishJobsInput], required: true, description: 'The jobs and their queues.' }) },
    resolve: (_root, { jobs }, context) => refusing(async () => ({ answers: await publishMany(context, jobs) })),
  }),
}));
