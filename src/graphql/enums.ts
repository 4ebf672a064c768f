import type { EnumRef } from '@pothos/core';
import { MEMBER_ROLES } from '../domain/access.ts';
import { QUEUE_WARNINGS } from '../domain/health.ts';
import { ATTEMPT_STATUSES, DEAD_REASONS, JOB_STATUSES } from '../domain/job.ts';
import { JOB_ORDER_FIELDS, JOB_STATES, PAYLOAD_OPERATORS } from '../domain/job-filter.ts';
import { KEY_SCOPES } from '../domain/key-rights.ts';
import { ACK_TIMEOUT_ACTIONS, BACKOFF_TYPES, QUEUE_MODES } from '../domain/queue-settings.ts';
import { WAIT_REASONS } from '../domain/waiting.ts';
import { builder } from './builder.ts';

/** Defines a GraphQL enum for an enum of the domain, with the values in capitals, as is usual in GraphQL. */
export function enumOf<const Values extends readonly string[]>(name: string, description: string, values: Values) {
  const entries = values.map((value) => [value.toUpperCase(), { value }] as const);
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(entries),
  }) as unknown as EnumRef<never, Values[number], Values[number]>;
}

export const MemberRole = enumOf(
  'MemberRole',
  'What a person may do. `VIEWER`: read. `OPERATOR`: also change the state of jobs and queues. `ADMIN`: everything, also settings, secrets, API keys and sessions.',
  MEMBER_ROLES,
);
export const ApiKeyScope = enumOf(
  'ApiKeyScope',
  'What an API key may do. `PUBLISH`: publish jobs. `READ`: read everything, payloads included; GraphQL needs it. `REPORT`: ack, nack and defer jobs, and extend their ack deadline. `MANAGE`: create and change queues, change the state of queues, jobs and dead letters, and change alert rules and saved views. `ADMIN`: all of these, and API keys, members and sessions.',
  KEY_SCOPES,
);
export const JobStatus = enumOf('JobStatus', 'Status of a job, the same as in REST.', JOB_STATUSES);
export const JobStateName = enumOf(
  'JobState',
  'State of a job. The status `PENDING` is divided into four states: due, scheduled (for the first delivery), retrying (in back-off) and held (by a hold of the job itself).',
  JOB_STATES,
);
export const AttemptStatus = enumOf(
  'AttemptStatus',
  'Outcome of an attempt. `SUCCESS`: the job is completed. `FAILED`: the receiver did not answer or refused the job, or its ack deadline passed. `NACKED`: a nack was reported. `DEFERRED`: backpressure, a defer, or a failed probe of an open breaker; it does not count as an attempt.',
  ATTEMPT_STATUSES,
);
export const DeadReason = enumOf(
  'DeadReason',
  'Reason why a job died. `ATTEMPTS_EXHAUSTED`: its last attempt failed. `DELIVERY_LIFETIME_EXCEEDED`: its delivery lifetime ended, or the next attempt would come after it. `DEFER_CAP_EXHAUSTED`: it was deferred once more than `maxDefers` allows. `RETRY_AFTER_EXCEEDS_LIFETIME`: a defer or a backpressure answer requested a delay beyond its delivery lifetime. `NACKED`: a nack or an answer forbade a retry. `ACK_TIMEOUT`: its ack deadline passed, and the ack timeout action of its queue is `DEAD`. `QUEUE_DELETED`: its queue was deleted. `CANCELLED`: a client cancelled it; it leaves no dead letter.',
  DEAD_REASONS,
);
export const WaitReason = enumOf(
  'WaitReason',
  'Reason why a pending job is not being delivered now. `DUE`: nothing delays it; a worker claims it in its turn.',
  WAIT_REASONS,
);
export const QueueMode = enumOf(
  'QueueMode',
  'Meaning of a 2xx answer of the webhook. `STANDARD`: it completes the job. `ACK`: it confirms receipt, and the worker reports the outcome.',
  QUEUE_MODES,
);
export const AckTimeoutAction = enumOf(
  'AckTimeoutAction',
  'Effect of an ack deadline that passes without a report. `RETRY`: the attempt has failed. `DEAD`: the job is dead.',
  ACK_TIMEOUT_ACTIONS,
);
export const BackoffType = enumOf('BackoffType', 'Growth of the back-off from retry to retry.', BACKOFF_TYPES);
export const PayloadOperator = enumOf(
  'PayloadOperator',
  'Comparison of a payload value. `EQ` and `NEQ` compare any value. `CONTAINS` finds text within text, ignoring case, and elements of arrays. `EXISTS` ignores the value. `GT` and `LT` compare numbers with numbers and text with text.',
  PAYLOAD_OPERATORS,
);
export const QueueWarning = enumOf(
  'QueueWarning',
  'A problem of a receiver that needs attention. `SIGNATURE_REJECTED`: it answers 401. `SLOW_RECEIVER`: one answer in twenty takes more than half of the webhook timeout. `FAILING`: more than half of the attempts fail. `BACKPRESSURE`: more than a fifth of the attempts are deferred.',
  QUEUE_WARNINGS,
);
export const DeferScope = enumOf(
  'DeferScope',
  'Scope of a hold. `QUEUE`: deliveries of the whole queue stop. `JOB`: only this job is held.',
  ['queue', 'job'],
);
export const JobOrderField = enumOf('JobOrderField', 'Field by which jobs are ordered.', JOB_ORDER_FIELDS);
export const OrderDirection = enumOf(
  'OrderDirection',
  'Direction of an order. `ASC`: smallest first. `DESC`: largest first.',
  ['asc', 'desc'],
);
