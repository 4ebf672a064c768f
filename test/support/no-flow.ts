import type { Flow } from '../../packages/dashboard/features/queues/model/queue-condition.ts';

/** The flow of a queue of which nothing is known. */
export const NO_FLOW: Flow = {
  in: null,
  out: null,
  accepted: null,
  wait: null,
  span: null,
  moves: false,
  quietSince: null,
  lastAt: null,
};
