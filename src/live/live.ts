/** What changes, as it happens, across processes. */

/** A subscriber is told about these; empty lists mean nothing of that kind. */
export interface Watch {
  accountId: string;
  queueIds: readonly string[];
  jobIds: readonly string[];
  actionIds: readonly string[];
  /** All queues of the account, also those to come. */
  allQueues?: boolean | undefined;
}

/** What changed since the last time; ids only, because what is shown is read when it is sent. */
export interface Changes {
  queueIds: ReadonlySet<string>;
  /** Watched jobs, and of watched queues the last few that changed. */
  jobIds: ReadonlySet<string>;
  actionIds: ReadonlySet<string>;
  /** Jobs of watched queues that changed and are not in `jobIds`, because there were too many. */
  moreJobs: number;
  /** Any queue of the account may have changed; only for those who watch all. */
  allQueues?: true | undefined;
}

export interface Live {
  /**
   * Takes one of the account's places for something that stays open without `watch`, which takes one by itself.
   * @returns gives it back
   * @throws JobferryError `unavailable` when there are too many
   */
  admit(accountId: string): () => void;
  /**
   * Waits for changes of what is watched, from the call on. Yields at most once per `minIntervalMs`,
   * everything since the last time together; also yields (with what it watches) when something may have been
   * missed: a moment after the start, when other processes have heard of it, and after a database restart.
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

/** How the rest of the service tells what changed; never throws, never waits. */
export interface ChangeFeed {
  changed(change: Change): void;
}

export const NO_CHANGES: ChangeFeed = { changed: () => undefined };
