/** How long jobs live; the same for all jobs of a service. */
export interface Periods {
  /** Milliseconds from publish to deletion, for a job that has ended by then. */
  retentionMs: number;
  /** Milliseconds from publish in which a job may be delivered. */
  lifetimeMs: number;
}
