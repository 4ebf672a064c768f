/** The verbs beyond REST: sent over GraphQL, with plain arguments, a plain result, and errors that are thrown. */
import type { RouteCalls } from '../calls.ts';
import type { Ask } from './ask.ts';
import { type BulkActionVerbs, bulkActionVerbs } from './bulk-actions.ts';
import { type DeadLetterVerbs, deadLetterVerbs } from './dead-letters.ts';
import { type JobVerbs, jobVerbs } from './jobs.ts';
import { type KeyVerbs, keyVerbs } from './keys.ts';
import { type QueueVerbs, queueVerbs } from './queues.ts';
import type { GraphQLOptions } from './types.ts';

/** Verbs beside the routes of REST, in the same groups and in others. */
export interface Verbs {
  /** Verbs of queues. */
  queues: QueueVerbs;
  /** Verbs of jobs. */
  jobs: JobVerbs;
  /** Verbs of dead letters. */
  deadLetters: DeadLetterVerbs;
  /** Work on many jobs that was started. */
  bulkActions: BulkActionVerbs;
  /** API keys of the account. */
  keys: KeyVerbs;
  /**
   * Sends any document of GraphQL, and returns its `data`. It is sent once;
   * `timeoutMs` replaces the time-out of the client.
   * @throws JobferryApiError also if only a part of it failed
   */
  graphql<Data>(query: string, variables?: object, options?: GraphQLOptions): Promise<Data>;
}

/** @internal */
export function createVerbs(routes: RouteCalls, ask: Ask): Verbs {
  return {
    queues: queueVerbs(routes, ask),
    jobs: jobVerbs(routes, ask),
    deadLetters: deadLetterVerbs(ask),
    bulkActions: bulkActionVerbs(ask),
    keys: keyVerbs(ask),
    graphql: (query, variables = {}, { signal, timeoutMs } = {}) =>
      ask.text('graphql()', query, variables, { signal, timeoutMs }),
  };
}
