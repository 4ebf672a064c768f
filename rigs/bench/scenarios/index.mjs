import { ack } from './ack.mjs';
import { backlog, delayed } from './backlog.mjs';
import { dashboard } from './dashboard.mjs';
import { hold } from './hold.mjs';
import { latency } from './latency.mjs';
import { memory } from './memory.mjs';
import { queues } from './queues.mjs';
import { rates } from './rates.mjs';
import { retryStorm } from './retry-storm.mjs';
import { snapshot } from './snapshot.mjs';
import { payload2k, payload64k, throughput } from './throughput.mjs';
import { tracing } from './tracing.mjs';
import { twoWorkers } from './two-workers.mjs';

/**
 * A scenario has `about` and `run(stage, options)`, which resolves with
 *   results   everything that was measured, for the JSON file
 *   tables    [{title, head, rows, note}] for people
 *   faults    texts: what the service must not do; any of them makes the run fail
 */
export const SCENARIOS = {
  throughput,
  rates,
  latency,
  queues,
  'payload-2k': payload2k,
  'payload-64k': payload64k,
  ack,
  'retry-storm': retryStorm,
  hold,
  dashboard,
  tracing,
  'two-workers': twoWorkers,
  backlog,
  delayed,
  memory,
  snapshot,
};

/** Not a scenario: every one of them, one after another. */
export const ALL = 'all';
