import type { CallOptions, RouteCalls } from '../calls.ts';
import { JobferryApiError, unwrap } from '../errors.ts';
import type { Job, PublishInput } from '../models.ts';
import { ACTION, type Ask, type ById, ERROR, FIELDS } from './ask.ts';
import { graphql } from './document.ts';
import { poll } from './poll.ts';
import { createPublishMany, type PublishManyAnswer } from './publish-many.ts';
import type { JobFilter, ManyOptions, RunManyOptions, StartedAction } from './types.ts';

/** Progress that a worker has reported. */
export interface JobProgress {
  /** Text of the worker; null if the API key may not see payloads. */
  text: string | null;
  /** Time of the report. */
  at: string;
}

/** Result of `jobs.extend`. */
export interface Extended {
  /** Time at which the job now times out without a report. */
  deadline: string;
}

/** Argument of `jobs.extend`. */
export interface ExtendInput {
  /** Time from now to the new ack deadline in seconds. An earlier deadline than the present one has no effect. */
  seconds: number;
  /** Text about the progress, which the dashboard shows. */
  progress?: string | undefined;
  /** The `attempt` of the delivery: another attempt is then not extended. */
  attempt?: number | undefined;
}

/**
 * Verbs of jobs that REST does not have. They return the result, and throw a `JobferryApiError` for a refusal. The API
 * key needs the scopes `read` and `manage` unless a method says otherwise, and must not be limited to queues.
 */
export interface JobVerbs {
  /**
   * Publishes jobs. Each is accepted or refused on its own; the answers have the order of the jobs. A request has up to
   * 1000 jobs and a megabyte. More jobs are sent in several requests, one after the other, and a larger job goes over
   * REST. If a request fails, the call rejects, and the jobs of earlier requests are published. So give each job an
   * `idempotencyKey`: then a request is retried, and the whole call can be repeated. `throwIfPayloadDiffers` has no
   * effect: see `payloadDiffers` of each answer. Needs the scopes `read` and `publish`.
   */
  publishMany(queueName: string, jobs: readonly PublishInput[], options?: CallOptions): Promise<PublishManyAnswer[]>;
  /** Cancels a job that is pending or awaiting an ack. It becomes dead, and leaves no dead letter. */
  cancel(id: string, options?: CallOptions): Promise<void>;
  /** Cancels all jobs that match and are pending or awaiting an ack. */
  cancelMany(filter: JobFilter, options?: ManyOptions): Promise<StartedAction>;
  /** Makes a pending job due now. */
  runNow(id: string, options?: CallOptions): Promise<void>;
  /** Makes all jobs due that match and wait for a later time, up to `ratePerSecond`. */
  runManyNow(filter: JobFilter, options?: RunManyOptions): Promise<StartedAction>;
  /**
   * Moves the ack deadline of a job, and stores its progress. Needs the scopes `read` and `report`.
   * Returns the new deadline.
   */
  extend(id: string, input: ExtendInput, options?: CallOptions): Promise<Extended>;
  /** Returns the progress that the worker of a job has reported; null for none. The scope `read` is enough. */
  progress(id: string, options?: CallOptions): Promise<JobProgress | null>;
  /**
   * Waits until a job is completed or dead, and returns it. It reads the job at intervals that grow to two seconds, and
   * goes on while Jobferry does not answer, for up to five minutes. Give a `signal` such as
   * `AbortSignal.timeout(60_000)`: without one it waits for as long as the job does.
   */
  waitForOutcome(id: string, options?: CallOptions): Promise<Job>;
}

/** @internal */
export function jobVerbs(routes: RouteCalls, ask: Ask): JobVerbs {
  const change = async (call: string, operation: ById, id: string, { signal }: CallOptions = {}): Promise<void> =>
    // Not repeated: when the answer to the first request was lost, the second one would be refused.
    void (await ask.result(`jobs.${call}(${id})`, operation, { id }, { signal }));

  return {
    publishMany: createPublishMany(routes, ask),
    cancel: (id, options) => change('cancel', CANCEL, id, options),
    cancelMany: (filter, { signal, ...options } = {}) =>
      ask.result('jobs.cancelMany', CANCEL_MANY, { filter, ...options }, { signal }),
    runNow: (id, options) => change('runNow', RUN_NOW, id, options),
    runManyNow: (filter, { signal, ...options } = {}) =>
      ask.result('jobs.runManyNow', RUN_MANY, { filter, ...options }, { signal }),
    extend: (id, input, { signal } = {}) =>
      ask.result(`jobs.extend(${id})`, EXTEND, { id, ...input }, { signal, isRepeatable: true }),
    async progress(id, { signal } = {}) {
      const options = { signal, isRepeatable: true };
      const call = `jobs.progress(${id})`;
      const { job } = await ask.document(call, PROGRESS, { id }, options);
      if (job === null) throw new JobferryApiError({ status: 404, body: { error: 'job not found' } }, call);
      return job.progress;
    },
    async waitForOutcome(id, { signal } = {}) {
      const isOver = ({ status }: Job) => status === 'completed' || status === 'dead';
      return poll(() => unwrap(routes.jobs.get({ params: { id }, signal })), isOver, signal);
    },
  };
}

const PROGRESS = graphql('query ($id: ID!) { job(id: $id) { progress { text at } } }');
const CANCEL = graphql(`mutation ($id: ID!) { result: cancelJob(id: $id) { ${ERROR} } }`);
const CANCEL_MANY = graphql(`mutation ($filter: JobFilter!, $dryRun: Boolean, $all: Boolean) {
  result: cancelJobs(filter: $filter, dryRun: $dryRun, all: $all) {
    ${ERROR} ${FIELDS} ... on BulkActionPayload { matched action { ${ACTION} } } } }`);
const RUN_NOW = graphql(`mutation ($id: ID!) { result: runNow(id: $id) { ${ERROR} } }`);
const RUN_MANY = graphql(`mutation ($filter: JobFilter!, $dryRun: Boolean, $ratePerSecond: Int, $all: Boolean) {
  result: runJobsNow(filter: $filter, dryRun: $dryRun, ratePerSecond: $ratePerSecond, all: $all) {
    ${ERROR} ${FIELDS} ... on BulkActionPayload { matched action { ${ACTION} } } } }`);
const EXTEND = graphql(`mutation ($id: ID!, $seconds: Float!, $progress: String, $attempt: Int) {
  result: extendAck(id: $id, seconds: $seconds, progress: $progress, attempt: $attempt) {
    ${ERROR} ${FIELDS} ... on ExtendAckPayload { deadline } } }`);
