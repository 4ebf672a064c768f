import type { EnumRef } from '@pothos/core';
import { QUEUE_WARNINGS } from '../domain/health.ts';
import { ATTEMPT_STATUSES, DEAD_REASONS, JOB_STATUSES } from '../domain/job.ts';
import { JOB_STATES, PAYLOAD_OPERATORS } from '../domain/job-filter.ts';
import { ACK_TIMEOUT_ACTIONS, BACKOFF_TYPES, QUEUE_MODES } from '../domain/queue.ts';
import { WAIT_REASONS } from '../domain/waiting.ts';
import { builder } from './builder.ts';

/** An enum of the domain under GraphQL's custom: the values in capitals. */
export function enumOf<const Values extends readonly string[]>(name: string, description: string, values: Values) {
  const entries = values.map((value) => [value.toUpperCase(), { value }] as const);
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(entries),
  }) as unknown as EnumRef<never, Values[number], Values[number]>;
}

export const JobStatus = enumOf('JobStatus', 'The status of a job, as REST shows it.', JOB_STATUSES);
export const JobStateName = enumOf(
  'JobState',
  'What a job is doing. The status `PENDING` has four shades: due, scheduled (for its first delivery), retrying (in backoff) and held (by a defer of its own).',
  JOB_STATES,
);
export const AttemptStatus = enumOf('AttemptStatus', 'How an attempt ended.', ATTEMPT_STATUSES);
export const DeadReason = enumOf('DeadReason', 'Why a job died.', DEAD_REASONS);
export const WaitReason = enumOf(
  'WaitReason',
  'What keeps a pending job from being delivered. `DUE`: nothing; a worker takes it in a moment, or none is running.',
  WAIT_REASONS,
);
export const QueueMode = enumOf(
  'QueueMode',
  '`STANDARD`: a 2xx completes the job. `ACK`: a 2xx confirms receipt, and the worker reports the outcome.',
  QUEUE_MODES,
);
export const AckTimeoutAction = enumOf(
  'AckTimeoutAction',
  'What becomes of a job that is not reported on in time.',
  ACK_TIMEOUT_ACTIONS,
);
export const BackoffType = enumOf('BackoffType', 'How the waits between retries grow.', BACKOFF_TYPES);
export const PayloadOperator = enumOf(
  'PayloadOperator',
  '`EQ` and `NEQ` compare any value, `CONTAINS` looks for text within text, `EXISTS` ignores the value, `GT` and `LT` compare numbers with numbers and text with text.',
  PAYLOAD_OPERATORS,
);
export const QueueWarning = enumOf('QueueWarning', 'Something about a receiver that needs a look.', QUEUE_WARNINGS);
export const DeferScope = enumOf(
  'DeferScope',
  '`QUEUE` stops the deliveries of the whole queue, `JOB` holds this job only.',
  ['queue', 'job'],
);
export const JobOrderField = enumOf('JobOrderField', 'What jobs are ordered by.', [
  'created_at',
  'scheduled_for',
  'completed_at',
]);
export const OrderDirection = enumOf('OrderDirection', 'Smallest or largest first.', ['asc', 'desc']);
