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
}

export interface Live {
  /**
   * Waits for changes of what is watched. Yields at most once per `minIntervalMs`, everything since the last
   * time together; also yields (with what it watches) when something may have been missed, such as after
   * a database restart. Ends when the consumer returns, or the service stops.
   */
  watch(watch: Watch, minIntervalMs: number): AsyncGenerator<Changes, void, undefined>;
}

/** How the rest of the service tells what changed; never throws, never waits. */
export interface ChangeFeed {
  changed(change: { accountId: string; queueId?: string; jobId?: string; actionId?: string }): void;
}
