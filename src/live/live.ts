import type { WatchedList } from '../db/insight/account-marks.ts';

/** Live updates: changes of queues, jobs and bulk actions, from all processes. */

/** The ids that a subscriber watches; an empty list means none of that kind. */
export interface Watch {
  accountId: string;
  queueIds: readonly string[];
  jobIds: readonly string[];
  actionIds: readonly string[];
  /** All queues of the account, including those that are created later. */
  allQueues?: boolean | undefined;
  /** Lists of the account whose new rows are watched. */
  lists?: readonly WatchedList[] | undefined;
}

/** The changes since the previous `Changes`. Ids only: the data is read when an event is sent. */
export interface Changes {
  queueIds: ReadonlySet<string>;
  /** Watched jobs, and the last few jobs of watched queues that changed. */
  jobIds: ReadonlySet<string>;
  actionIds: ReadonlySet<string>;
  /** Number of changed jobs of watched queues that are not in `jobIds`, because there were too many. */
  moreJobs: number;
  /** Any queue of the account may have changed; only set if the subscriber watches all queues. */
  allQueues?: true | undefined;
  /** Queues with new dead letters. */
  deadLettersOf?: ReadonlySet<string> | undefined;
  /** The audit log has new entries. */
  auditLog?: true | undefined;
  /** Processes have started or ended, or their load has changed. */
  instances?: true | undefined;
}

export interface Live {
  /**
   * Counts a stream that stays open without `watch` as one of the account's subscribers. `watch` counts itself.
   * @returns a function that ends the count
   * @throws JobferryError `unavailable` when there are too many subscribers
   */
  admit(accountId: string): () => void;
  /**
   * Yields the changes of what is watched, from the call on. Yields at most once per `minIntervalMs`, all changes since
   * the previous time together. If changes may have been missed, it yields everything that is watched: a moment after
   * the start, when other processes know of the subscriber, and after a database restart.
   * Ends when the consumer returns, the signal is aborted, or the service stops.
   * @throws JobferryError `unavailable` when there are too many subscribers
   */
  watch(watch: Watch, minIntervalMs: number, signal?: AbortSignal): AsyncGenerator<Changes, void, undefined>;
}

/** Something that was committed. */
export interface Change {
  accountId: string;
  queueId?: string;
  jobId?: string;
  actionId?: string;
}

/** Takes the changes that the rest of the service makes; never throws, never waits. */
export interface ChangeFeed {
  changed(change: Change): void;
}

export const NO_CHANGES: ChangeFeed = { changed: () => undefined };
