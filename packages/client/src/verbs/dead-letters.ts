import { ACTION, type Ask, ERROR, FIELDS } from './ask.ts';
import { graphql } from './document.ts';
import type { DeadLetterFilter, ManyOptions, StartedAction } from './types.ts';

/** Options of `deadLetters.replayMatching`. */
export interface ReplayOptions extends ManyOptions {
  /** Most replays per second; no limit by default. */
  ratePerSecond?: number;
  /** Replays one first, and the others only when its job has completed. */
  canary?: boolean;
}

/** Verbs of dead letters that REST does not have. */
export interface DeadLetterVerbs {
  /**
   * Replays the dead letters of all queues that match and were not replayed, oldest first. The API key needs the scopes
   * `read` and `manage`, and must not be limited to queues. @throws JobferryApiError
   */
  replayMatching(filter: DeadLetterFilter, options?: ReplayOptions): Promise<StartedAction>;
}

/** @internal */
export function deadLetterVerbs(ask: Ask): DeadLetterVerbs {
  return {
    replayMatching: (filter, { signal, ...options } = {}) =>
      ask.result('deadLetters.replayMatching', REPLAY, { filter, ...options }, { signal }),
  };
}

const REPLAY =
  graphql(`mutation ($filter: DeadLetterFilter!, $dryRun: Boolean, $all: Boolean, $ratePerSecond: Int, $canary: Boolean) {
  result: replayDeadLetters(filter: $filter, dryRun: $dryRun, all: $all, ratePerSecond: $ratePerSecond, canary: $canary) {
    ${ERROR} ${FIELDS} ... on BulkActionPayload { matched action { ${ACTION} } } } }`);
