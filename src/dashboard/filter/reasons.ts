/** Why jobs died and why they wait, as words of a filter with their names in the API. */

export const DEAD_REASONS = {
  'attempts-exhausted': 'ATTEMPTS_EXHAUSTED',
  'ack-timeout': 'ACK_TIMEOUT',
  nacked: 'NACKED',
  'holds-exhausted': 'DEFER_CAP_EXHAUSTED',
  'asked-to-wait-too-long': 'RETRY_AFTER_EXCEEDS_LIFETIME',
  'lifetime-ended': 'DELIVERY_LIFETIME_EXCEEDED',
  cancelled: 'CANCELLED',
  'queue-deleted': 'QUEUE_DELETED',
} as const;
export type DeadReasonName = keyof typeof DEAD_REASONS;

export const WAITS = {
  turn: 'DUE',
  delay: 'DELAYED',
  backoff: 'BACKOFF',
  hold: 'HELD',
  'queue-hold': 'QUEUE_HELD',
  probe: 'PROBE_IN_FLIGHT',
  pause: 'PAUSED',
  slot: 'CONCURRENCY',
  'rate-limit': 'RATE_LIMIT',
} as const;
export type WaitName = keyof typeof WAITS;
