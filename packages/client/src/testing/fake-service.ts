import type { ZodTypeAny } from 'zod';
import { contract } from '../../../../src/contract/index.ts';
import { type JsonObject, VerbatimJson } from '../../../../src/contract/verbatim-json.ts';
import { QUEUE_DEFAULTS } from '../../../../src/domain/queue.ts';
import type { Job, PublishInput, Queue } from '../models.ts';
import { mapEnums } from '../verbs/create-queue.ts';
import type { QueueDeclaration } from '../verbs/queues.ts';
import { problemsIn } from './bounds.ts';
import { newId } from './signed-delivery.ts';

type PublishOptions = Omit<PublishInput, 'payload'>;

/** A publish that a fake client has recorded. */
export interface FakePublish {
  /** Name of the queue. */
  queue: string;
  /** Payload, as a receiver would get it: written as JSON, and parsed. */
  payload: JsonObject;
  /** The other members of the body, such as `delay` and `idempotencyKey`. */
  options: PublishOptions;
  /** Id of the job that the answer names. */
  jobId: string;
}

/** A queue that a fake client keeps. */
export interface FakeQueue extends Queue {
  /** Whether it was paused, and not resumed since. */
  isPaused: boolean;
  /** Words by which queues are grouped, in alphabetical order. */
  tags: readonly string[];
}

/** An answer of a fake client. */
export interface FakeAnswer {
  /** HTTP status. */
  status: number;
  /** Body, before it is written as JSON. */
  body?: unknown;
  /** Headers, such as `retry-after`. */
  headers?: Record<string, string> | undefined;
}

/** Argument of `createFakeClient`. */
export interface FakeOptions {
  /**
   * Answers a call in place of the fake; undefined leaves it to the fake. A publish that it answers is not recorded. It
   * is called for each job of a `publishMany` as for a publish, and for a queue with tags or a secret as for any other
   * queue.
   * @param call such as `POST /v1/queues/emails/jobs`
   * @param body parsed; undefined if the call has none
   */
  respond?: (call: string, body: unknown) => FakeAnswer | undefined;
}

/** The service behind a fake client: the routes and mutations that most programs call. */
export interface FakeService {
  /** Publishes in their order. */
  published: FakePublish[];
  /** Queues that were created and not deleted. */
  queues: FakeQueue[];
  /** Answers a call such as `GET /v1/queues`. */
  answer(call: string, body: unknown): FakeAnswer;
}

const PUBLISH = /^POST \/v1\/queues\/([^/]+)\/jobs$/;
const QUEUE = /^(GET|PUT|DELETE) \/v1\/queues\/([^/]+)$/;
const JOB = /^GET \/v1\/jobs\/([^/]+)$/;

const NO_QUEUE: FakeAnswer = { status: 404, body: { error: 'queue not found' } };

export function createFakeService(respond: NonNullable<FakeOptions['respond']>): FakeService {
  const published: FakePublish[] = [];
  const queues: FakeQueue[] = [];

  function publish(queue: string, body: unknown): FakeAnswer {
    const given = respond(`POST /v1/queues/${queue}/jobs`, body);
    if (given !== undefined) return given;
    const { payload, ...options } = body as { payload: JsonObject } & PublishOptions;
    if (Object.keys(problemsIn({ name: queue })).length > 0) return NO_QUEUE;
    const problem = problemOf(contract.jobs.publish.body, body, { ...options, payload: asSource(payload) });
    if (problem !== null) return problem;
    const { idempotencyKey } = options;
    const isRepeat = (one: FakePublish) => one.queue === queue && one.options.idempotencyKey === idempotencyKey;
    const earlier = idempotencyKey === undefined ? undefined : published.find(isRepeat);
    const jobId = earlier?.jobId ?? newId();
    if (earlier === undefined) published.push({ queue, payload, options, jobId });
    const job = { id: jobId, status: 'pending', createdAt: new Date().toISOString() };
    if (earlier === undefined) return { status: 201, body: job };
    const differs = JSON.stringify(earlier.payload) !== JSON.stringify(payload);
    return { status: 200, body: job, headers: differs ? { 'x-jobferry-payload': 'differs' } : {} };
  }

  function create(body: unknown): FakeAnswer {
    const given = respond('POST /v1/queues', body);
    if (given !== undefined) return given;
    const problem = problemOf(contract.queues.create.body, body);
    if (problem !== null) return problem;
    const { template: _, ...settings } = withParsedUrl(contract.queues.create.body.parse(body));
    // Only GraphQL takes these two.
    const { tags = [], signingSecret = `whsec_fake-${settings.name}` } = body as Pick<
      QueueDeclaration,
      'tags' | 'signingSecret'
    >;
    if (queues.some(({ name }) => name === settings.name)) return refusal({ name: ['already exists'] });
    const queue: FakeQueue = {
      ...({ ...QUEUE_DEFAULTS, ...settings } as Omit<Queue, 'id' | 'createdAt'>),
      id: newId(),
      createdAt: new Date().toISOString(),
      isPaused: false,
      tags: inOrder(tags),
    };
    queues.push(queue);
    return { status: 201, body: { ...shown(queue), signingSecret } };
  }

  function change(method: string, id: string, body: unknown): FakeAnswer {
    const queue = queues.find((one) => one.id === id);
    if (queue === undefined) return NO_QUEUE;
    if (method === 'DELETE') {
      queues.splice(queues.indexOf(queue), 1);
      return { status: 204 };
    }
    if (method === 'PUT') {
      const problem = problemOf(contract.queues.update.body, body);
      if (problem !== null) return problem;
      const { name = queue.name } = body as { name?: string };
      if (name !== queue.name) return refusal({ name: ['cannot be changed'] });
      Object.assign(queue, withParsedUrl(contract.queues.update.body.parse(body)));
    }
    return { status: 200, body: shown(queue) };
  }

  /** A job that was delivered at its first attempt, so that `waitForOutcome` ends. */
  function job(id: string): FakeAnswer {
    const found = published.find(({ jobId }) => jobId === id);
    if (found === undefined) return { status: 404, body: { error: 'job not found' } };
    const { queue, payload, options } = found;
    const now = new Date().toISOString();
    const history = [{ attempt: 1, status: 'success', error: null, webhookStatusCode: 200, timestamp: now } as const];
    const body: Job = {
      id,
      queue,
      payload,
      history,
      status: 'completed',
      attempts: 1,
      deferCount: 0,
      lastError: null,
      maxAttempts: queues.find(({ name }) => name === queue)?.maxAttempts ?? QUEUE_DEFAULTS.maxAttempts,
      idempotencyKey: options.idempotencyKey ?? null,
      scheduledFor: now,
      createdAt: now,
      completedAt: now,
    };
    return { status: 200, body };
  }

  /** Changes a queue by a mutation. */
  function mutate(id: string | undefined, changes: Partial<Pick<FakeQueue, 'isPaused' | 'tags'>>): object {
    const queue = queues.find((one) => one.id === id);
    if (queue === undefined) return asResult(NO_QUEUE);
    const fieldErrors = problemsIn(changes);
    if (Object.keys(fieldErrors).length > 0) return asResult(refusal(fieldErrors));
    Object.assign(queue, changes);
    return { __typename: 'QueuePayload' };
  }

  const mutations: Readonly<Record<string, (variables: GraphQLBody['variables']) => object>> = {
    publishJobs: ({ jobs = [] }) => {
      const answers = jobs.map(({ queue, job: { payloadText, ...options } }) =>
        asResult(publish(queue, { ...options, payload: JSON.parse(payloadText) })),
      );
      return { __typename: 'PublishJobsPayload', answers };
    },
    createQueue: ({ input = {} }) => asCreated(create(mapEnums(input, 'toLowerCase'))),
    updateQueue: ({ id, tags = [] }) => mutate(id, { tags: inOrder(tags) }),
    pauseQueue: ({ id }) => mutate(id, { isPaused: true }),
    resumeQueue: ({ id }) => mutate(id, { isPaused: false }),
  };

  function graphql({ query, variables }: GraphQLBody): FakeAnswer {
    const { id, name } = variables;
    const [, mutation] = /result: (\w+)/.exec(query) ?? [];
    const result = mutation === undefined ? undefined : mutations[mutation]?.(variables);
    if (result !== undefined) return { status: 200, body: { data: { result } } };
    if (/queue\((?:name: \$name\) \{ id|id: \$id\) \{ tags) \}/.test(query)) {
      const queue = queues.find((one) => one.id === id || one.name === name) ?? null;
      return { status: 200, body: { data: { queue: queue && { id: queue.id, tags: queue.tags } } } };
    }
    return unknown(`POST /graphql${mutation === undefined ? '' : `, ${mutation}`}`);
  }

  function answer(call: string, body: unknown): FakeAnswer {
    const [, queueName] = PUBLISH.exec(call) ?? [];
    if (queueName !== undefined) return publish(queueName, body);
    if (call === 'POST /v1/queues') return create(body);
    const given = respond(call, body);
    if (given !== undefined) return given;
    if (call === 'GET /v1/queues') return { status: 200, body: queues.map(shown) };
    const [, method = '', queueId] = QUEUE.exec(call) ?? [];
    if (queueId !== undefined) return change(method, queueId, body);
    const [, jobId] = JOB.exec(call) ?? [];
    if (jobId !== undefined) return job(jobId);
    return call === 'POST /graphql' ? graphql(body as GraphQLBody) : unknown(call);
  }

  return { published, queues, answer };
}

interface GraphQLBody {
  query: string;
  variables: {
    id?: string;
    name?: string;
    input?: object;
    tags?: string[];
    jobs?: { queue: string; job: Omit<PublishInput, 'payload'> & { payloadText: string } }[];
  };
}

function unknown(call: string): FakeAnswer {
  return { status: 404, body: { error: `the fake client does not answer ${call}: give it an answer with respond` } };
}

/** Without what REST does not show. */
function shown({ isPaused: _, tags: __, ...queue }: FakeQueue): Queue {
  return queue;
}

function inOrder(tags: readonly string[]): string[] {
  return [...new Set(tags)].sort();
}

/** The contract takes the source text of a payload. Anything but an object stays as it is, and is refused. */
function asSource(payload: unknown): unknown {
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  return isObject ? new VerbatimJson(JSON.stringify(payload)) : payload;
}

/** @param parsed the body as the schema takes it */
function problemOf(schema: ZodTypeAny, body: unknown, parsed: unknown = body): FakeAnswer | null {
  const result = schema.safeParse(parsed);
  const error = result.success ? { formErrors: [], fieldErrors: {} } : result.error.flatten();
  // The package's contract has no bounds.
  const fieldErrors = { ...problemsIn(Object(body)), ...error.fieldErrors };
  const isFine = result.success && Object.keys(fieldErrors).length === 0;
  return isFine ? null : { status: 400, body: { error: { ...error, fieldErrors } } };
}

/** The package's contract takes the URL as it is, and the service stores it as it parses it. */
function withParsedUrl<Settings extends { webhookUrl?: string | undefined }>(settings: Settings): Settings {
  const { webhookUrl } = settings;
  return webhookUrl === undefined ? settings : { ...settings, webhookUrl: new URL(webhookUrl).href };
}

function refusal(fieldErrors: Record<string, string[]>): FakeAnswer {
  return { status: 400, body: { error: { formErrors: [], fieldErrors } } };
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'ValidationError',
  402: 'LimitReachedError',
  404: 'NotFoundError',
  503: 'UnavailableError',
};

/** An answer of REST to a new queue as a result of GraphQL. */
function asCreated(answer: FakeAnswer): object {
  if (answer.status !== 201) return asResult(answer);
  const { signingSecret, ...queue } = answer.body as Queue & { signingSecret: string };
  const shown = { ...mapEnums(queue, 'toUpperCase'), addressWarning: null };
  return { __typename: 'CreateQueuePayload', signingSecret, queue: shown };
}

/** An answer of REST to a publish, or a refusal, as a result of GraphQL. */
function asResult({ status, body, headers = {} }: FakeAnswer): object {
  if (status === 200 || status === 201) {
    const { id, status: state, createdAt } = body as { id: string; status: string; createdAt: string };
    const payloadDiffers = headers?.['x-jobferry-payload'] === 'differs';
    const job = { id, status: state.toUpperCase(), createdAt };
    return { __typename: 'PublishJobPayload', created: status === 201, payloadDiffers, job };
  }
  const __typename = TYPES[status] ?? 'UnavailableError';
  const { error } = (body ?? {}) as {
    error?: string | { formErrors: string[]; fieldErrors: Record<string, string[]> };
  };
  if (typeof error !== 'object') return { __typename, message: error ?? '' };
  const fieldErrors = Object.entries(error.fieldErrors).map(([field, messages]) => ({ field, messages }));
  return { __typename, message: '', formErrors: error.formErrors, fieldErrors };
}
