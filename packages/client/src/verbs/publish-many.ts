import { writeJson } from '../../../../src/contract/verbatim-json.ts';
import type { CallOptions, RouteCalls } from '../calls.ts';
import { JobferryApiError, ofCall } from '../errors.ts';
import { isSegment } from '../exchange.ts';
import { refusalIn } from '../graphql-answer.ts';
import { refuseLostParts } from '../mistakes.ts';
import type { PublishedJob, PublishInput } from '../models.ts';
import { type Ask, ERROR, FIELDS, type Success } from './ask.ts';
import { graphql, type ResultOf } from './document.ts';

/** The answer to one job of `jobs.publishMany`, for `unwrap`. */
export type PublishManyAnswer =
  /** 201: created. 200: an earlier job has the idempotency key; `payloadDiffers`: with another payload. */
  | { status: 200 | 201; body: PublishedJob; payloadDiffers: boolean }
  /** Refused, as by REST. */
  | { status: 400 | 402 | 404 | 413 | 503; body: { error: unknown } };

/** The most that one request takes. */
const MAX_JOBS = 1000;
/** The default of the service's `MAX_BODY_BYTES`, less what a request has beside its jobs. */
const USUAL_BYTES = 1_000_000;

interface Wire {
  queue: string;
  job: Omit<PublishInput, 'payload'> & { payloadText: string };
}

interface Prepared {
  job: PublishInput;
  wire: Wire;
  /** Infinite for a job that GraphQL would not answer as REST does. */
  bytes: number;
}

/** Publishes any number of jobs, with as many requests as the service's limits need. @internal */
export function createPublishMany(routes: RouteCalls, ask: Ask) {
  const together = async (call: string, jobs: readonly Prepared[], signal: AbortSignal | undefined) => {
    const isRepeatable = jobs.every(({ job }) => job.idempotencyKey !== undefined);
    const variables = { jobs: jobs.map(({ wire }) => wire) };
    const { answers } = await ask.result(call, PUBLISH_MANY, variables, { signal, isRepeatable });
    return answers.map(answerOf);
  };

  /** By REST, which takes a larger payload: GraphQL has it as a text inside of JSON. */
  const alone = async (
    call: string,
    queueName: string,
    job: PublishInput,
    signal: AbortSignal | undefined,
  ): Promise<PublishManyAnswer> => {
    // No queue has such a name, and no URL can have it.
    if (!isSegment(queueName)) return { status: 404, body: { error: 'queue not found' } };
    const answer = await routes.jobs.publish({ params: { queueName }, body: job, signal }).catch(tooDeep);
    const { status, body, headers } = answer as { status: number; body: unknown; headers: Headers };
    if (status === 200 || status === 201) {
      return { status, body: body as PublishedJob, payloadDiffers: headers.get('x-jobferry-payload') === 'differs' };
    }
    if (OF_ONE_JOB.has(status)) return { status: status as 400, body: body as { error: unknown } };
    throw new JobferryApiError(answer, call);
  };

  return async (queueName: string, jobs: readonly PublishInput[], { signal }: CallOptions = {}) => {
    const call = `jobs.publishMany(${queueName})`;
    const prepared = jobs.map((job) => prepare(queueName, job));
    const answers: PublishManyAnswer[] = [];
    let maxBytes = USUAL_BYTES;
    let maxJobs = MAX_JOBS;
    while (answers.length < prepared.length) {
      const portion = portionOf(prepared, answers.length, { maxBytes, maxJobs });
      const [first] = portion;
      if (first !== undefined && (first.bytes > maxBytes || maxJobs < 1)) {
        answers.push(await alone(call, queueName, first.job, signal));
        maxJobs = Math.max(maxJobs, 1);
        continue;
      }
      try {
        answers.push(...(await together(call, portion, signal)));
        maxJobs = Math.min(2 * maxJobs, MAX_JOBS);
      } catch (error) {
        const status = error instanceof JobferryApiError ? error.status : null;
        // The operator has set a lower limit than the usual one. This ends:
        // what is larger than the rest of it goes alone.
        if (status === 413) maxBytes = bytesOf(portion) / 2;
        // GraphQL refuses all for one that has a member of another type. That one goes alone at the end.
        else if (status === 400) maxJobs = Math.floor(portion.length / 2);
        else throw error;
      }
    }
    return answers.map((answer) => ofCall(answer, call));
  };
}

/** Refusals of one job. Others, such as that of a key, would be the same for each. */
const OF_ONE_JOB: ReadonlySet<number> = new Set([400, 402, 404, 413, 503]);

/** GraphQL would read numbers of a payload as JavaScript does; a text keeps every byte. */
function prepare(queue: string, job: PublishInput): Prepared {
  const { payload, ...rest } = job;
  refuseLostParts(payload);
  // JSON writes them as null, by which GraphQL means a member that is not given.
  const isNoNumber = (value: unknown) => typeof value === 'number' && !Number.isFinite(value);
  const payloadText = Object.values(rest).some(isNoNumber) ? null : textOf(payload);
  const wire = { queue, job: { ...rest, payloadText: payloadText ?? '' } };
  if (payloadText === null) return { job, wire, bytes: Number.POSITIVE_INFINITY };
  return { job, wire, bytes: new TextEncoder().encode(JSON.stringify(wire)).length + 1 };
}

/** @returns null for a payload of so many levels that JSON.stringify throws a RangeError */
function textOf(payload: unknown): string | null {
  try {
    return writeJson(payload);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Answers in place of the service, which gets no text of such a payload. @throws every other error */
function tooDeep(error: unknown) {
  if (!(error instanceof RangeError)) throw error;
  const fieldErrors = { payload: ['is more levels deep than JSON can be written with'] };
  return { status: 400, body: { error: { formErrors: [], fieldErrors } } };
}

/** The next jobs that one request takes; at least one. */
function portionOf(
  prepared: readonly Prepared[],
  from: number,
  { maxBytes, maxJobs }: { maxBytes: number; maxJobs: number },
): Prepared[] {
  const portion = prepared.slice(from, from + 1);
  let bytes = bytesOf(portion);
  for (const next of prepared.slice(from + 1, from + maxJobs)) {
    bytes += next.bytes;
    if (bytes > maxBytes) break;
    portion.push(next);
  }
  return portion;
}

function bytesOf(jobs: readonly Prepared[]): number {
  return jobs.reduce((sum, { bytes }) => sum + bytes, 0);
}

type WireAnswer = Success<ResultOf<typeof PUBLISH_MANY>['result']>['answers'][number];

function answerOf(answer: WireAnswer): PublishManyAnswer {
  if (!('job' in answer)) return refusalIn(answer) as { status: 400; body: { error: unknown } };
  const { created, job, payloadDiffers } = answer;
  const body = { ...job, status: job.status.toLowerCase() } as PublishedJob;
  return { status: created ? 201 : 200, body, payloadDiffers };
}

const PUBLISH_MANY = graphql(`mutation ($jobs: [PublishJobsInput!]!) {
  result: publishJobs(jobs: $jobs) { ${ERROR} ${FIELDS} ... on PublishJobsPayload {
    answers { ${ERROR} ${FIELDS} ... on PublishJobPayload { created payloadDiffers job { id status createdAt } } } } } }`);
