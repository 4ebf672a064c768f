import type { CallOptions } from '../calls.ts';
import { type Ask, ERROR, FIELDS, type Sendable } from './ask.ts';
import { graphql, type Operation } from './document.ts';

/** Queues of an action: exactly one member is given. */
export interface QueueChoice {
  /** Names of queues; at most 1000. */
  names?: readonly string[];
  /** Ids of queues; at most 1000. */
  ids?: readonly string[];
  /** All queues that deliver to this host, with its port unless it is the default, such as `api.partner.com`. */
  receiver?: string;
}

/** Limits of a queue. */
export interface QueueLimits {
  /** Maximum number of jobs in flight. */
  concurrency?: number;
  /** Maximum number of deliveries per rate window; null for no limit. */
  rateLimitMax?: number | null;
  /** Length of the rate window in seconds. */
  rateLimitWindow?: number;
}

/** The outcome of one of several queues. */
export interface QueueOutcome {
  /** Id of the queue; null for a name that no queue has. */
  id: string | null;
  /** Name of the queue; null for an id that no live queue has. */
  name: string | null;
  /** `CHANGED_SINCE`: an undo left the queue as it is, because another action has changed it. */
  outcome: 'CHANGED' | 'UNCHANGED' | 'CHANGED_SINCE' | 'NOT_FOUND';
  /** Maximum number of jobs in flight before the change; null if there is no such queue. */
  concurrency: number | null;
  /** Maximum number of deliveries per rate window before the change; null if there was no limit. */
  rateLimitMax: number | null;
  /** Length of the rate window before the change; null if there is no such queue. */
  rateLimitWindow: number | null;
}

/** Result of an action on several queues. */
export interface QueuesResult {
  /** Number of queues that were changed; in a dry run, that would be. */
  changed: number;
  /** The chosen queues. */
  queues: QueueOutcome[];
  /** Start of the pause of the queues that were paused, to undo it with `resumeMany`; null if none was. */
  pausedAt: string | null;
}

/** Options of an action on several queues. */
export interface QueuesOptions extends CallOptions {
  /** Changes nothing, and returns what would be changed. */
  dryRun?: boolean | undefined;
}

/** Options of `resumeMany`. */
export interface ResumeManyOptions extends QueuesOptions {
  /** Ends only the pauses that began then; null ends none. */
  pausedAt?: string | null | undefined;
}

/** Verbs that change several queues in one request. A queue that is already in the wanted state is left unchanged. */
export interface SeveralQueuesVerbs {
  /** Pauses queues. */
  pauseMany(queues: QueueChoice, options?: QueuesOptions): Promise<QueuesResult>;
  /** Ends pauses; with `pausedAt` of its result, undoes a `pauseMany`. */
  resumeMany(queues: QueueChoice, options?: ResumeManyOptions): Promise<QueuesResult>;
  /** Ends holds that receivers asked for. */
  endHoldMany(queues: QueueChoice, options?: QueuesOptions): Promise<QueuesResult>;
  /**
   * Sets limits; those that are left out stay. All or nothing: the account's limit of concurrency must not be exceeded.
   */
  limitMany(queues: QueueChoice, limits: QueueLimits, options?: QueuesOptions): Promise<QueuesResult>;
  /** Undoes a `limitMany`: puts the limits of its result back, in queues that still have what it set. */
  restoreLimits(result: QueuesResult, limits: QueueLimits, options?: CallOptions): Promise<QueuesResult>;
}

const NOTHING: QueuesResult = { changed: 0, queues: [], pausedAt: null };

/** A thousand queues are some hundred milliseconds. */
const TIMEOUT_MS = 30_000;

const RESULT = `{ ${ERROR} ${FIELDS} ... on QueuesPayload {
  changed pausedAt queues { id name outcome concurrency rateLimitMax rateLimitWindow } } }` as const;
const OF_CHOICE = '$queues: QueueChoice!, $dryRun: Boolean!';
const PAUSE = graphql(`mutation (${OF_CHOICE}) {
  result: pauseQueues(queues: $queues, dryRun: $dryRun) ${RESULT} }`);
const END_HOLD = graphql(`mutation (${OF_CHOICE}) {
  result: endHolds(queues: $queues, dryRun: $dryRun) ${RESULT} }`);
const RESUME = graphql(`mutation (${OF_CHOICE}, $pausedAt: DateTime) {
  result: resumeQueues(queues: $queues, dryRun: $dryRun, pausedAt: $pausedAt) ${RESULT} }`);
const LIMIT = graphql(`mutation (${OF_CHOICE}, $limits: QueueLimitsInput!) {
  result: limitQueues(queues: $queues, dryRun: $dryRun, limits: $limits) ${RESULT} }`);
const RESTORE = graphql(`mutation ($former: [FormerLimitsInput!]!, $limits: QueueLimitsInput!) {
  result: restoreQueueLimits(former: $former, limits: $limits) ${RESULT} }`);

/** @internal */
export function severalQueuesVerbs(ask: Ask): SeveralQueuesVerbs {
  // A repetition of a change that was made would answer that nothing was changed,
  // and an undo needs what was there before.
  const send = <Result, Variables>(
    name: string,
    operation: Operation<{ result: Result }, Variables>,
    variables: Sendable<Variables>,
    { signal }: CallOptions,
  ) => {
    const isRepeatable = (variables as { dryRun?: unknown }).dryRun === true;
    return ask.result(`queues.${name}()`, operation, variables, { signal, timeoutMs: TIMEOUT_MS, isRepeatable });
  };
  return {
    pauseMany: (queues, { dryRun = false, ...options } = {}) => send('pauseMany', PAUSE, { queues, dryRun }, options),
    resumeMany: async (queues, { dryRun = false, pausedAt, ...options } = {}) =>
      pausedAt === null ? NOTHING : send('resumeMany', RESUME, { queues, dryRun, pausedAt }, options),
    endHoldMany: (queues, { dryRun = false, ...options } = {}) =>
      send('endHoldMany', END_HOLD, { queues, dryRun }, options),
    limitMany: (queues, limits, { dryRun = false, ...options } = {}) =>
      send('limitMany', LIMIT, { queues, dryRun, limits }, options),
    restoreLimits: ({ queues }, limits, options = {}) => {
      const former = queues.flatMap(({ id, outcome, concurrency, rateLimitMax, rateLimitWindow }) => {
        if (outcome !== 'CHANGED' || id === null || concurrency === null || rateLimitWindow === null) return [];
        return [{ id, concurrency, rateLimitMax, rateLimitWindow }];
      });
      return send('restoreLimits', RESTORE, { former, limits }, options);
    },
  };
}
