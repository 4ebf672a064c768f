/** Why something happens to a job by the passing of time alone. */
export const CLOCK_EVENT_REASONS = [
  'delayed',
  'backoff',
  'held',
  'queue_held',
  'rate_limit',
  'ack_deadline',
  'lifetime',
] as const;
export type ClockEventReason = (typeof CLOCK_EVENT_REASONS)[number];

/** Something that happens to a job when the clock reaches a time. */
export interface ClockEvent {
  at: Date;
  reason: ClockEventReason;
  /** A sentence for people. */
  message: string;
  /** Name of the queue. */
  queue: string;
  jobId: string;
}

/** The clock of a server for development or tests. */
export interface ClockState {
  now: Date;
  /** Milliseconds that it is ahead of the machine's. */
  aheadMs: number;
  /** The next events, earliest first. */
  next: ClockEvent[];
}

/** How far time passes. With none of them, until the next event. */
export interface Travel {
  byMs?: number | undefined;
  to?: Date | undefined;
  /** Until no job waits for a later time, except for the end of its lifetime. */
  drains?: boolean | undefined;
}

export interface Travelled {
  clock: ClockState;
  /** The events that happened meanwhile, in order. */
  passed: ClockEvent[];
  /**
   * Whether everything that was due has happened; false if deliveries are still in flight, or jobs cannot be claimed.
   */
  isSettled: boolean;
}

/** Time never goes further than this at once, in milliseconds: ten years. */
export const MAX_TRAVEL_MS = 10 * 366 * 86_400_000;
