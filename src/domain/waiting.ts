/** Why a pending job is not being delivered now, in the order in which claiming looks. */
export const WAIT_REASONS = [
  'queue_deleted',
  'paused',
  'delayed',
  'backoff',
  'held',
  'queue_held',
  'probe_in_flight',
  'concurrency',
  'rate_limit',
  /** Nothing stands in its way: a worker takes it in a moment, or none is running. */
  'due',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];
