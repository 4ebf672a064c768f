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

async function publishOne({ services, account }: GraphQLContext, queue: string, input: Given) {
  const [answer] = await services.jobs.publishMany(account, [toPublish(queue, input)]);
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
  { services, account }: GraphQLContext,
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
  const published = await services.jobs.publishMany(
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
}));
