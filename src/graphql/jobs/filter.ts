import type { InputRef } from '@pothos/core';
import { JobferryError } from '../../domain/errors.ts';
import type { JobFilter, JobOrder, JsonScalar, PayloadCondition } from '../../domain/job-filter.ts';
import { FILTER_LIMITS, NO_QUEUE } from '../../domain/job-filter.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import {
  DeadReason,
  JobOrderField,
  JobStateName,
  JobStatus,
  OrderDirection,
  PayloadOperator,
  WaitReason,
} from '../enums.ts';
import { bounds, given, IntRangeInput, type Nullable, range, TimeRangeInput } from '../filter-input.ts';

interface PayloadConditionShape {
  anywhere?: string | null | undefined;
  path?: string | null | undefined;
  op?: PayloadOperatorName | null | undefined;
  value?: NonNullable<unknown> | null | undefined;
  and?: PayloadConditionShape[] | null | undefined;
  or?: PayloadConditionShape[] | null | undefined;
  not?: PayloadConditionShape | null | undefined;
}
type PayloadOperatorName = 'EQ' | 'NEQ' | 'CONTAINS' | 'EXISTS' | 'GT' | 'LT';

export const PayloadConditionInput: InputRef<PayloadConditionShape> = builder
  .inputRef<PayloadConditionShape>('PayloadConditionInput')
  .implement({
    description:
      'A condition on payloads: either `path` with `op` and `value`, or one of `anywhere`, `and`, `or` and `not`. Example: `{path: "customer.id", op: EQ, value: 42}`.',
    fields: (t) => ({
      anywhere: t.string({
        description:
          'Text that a name or a value of the payload contains, ignoring case. No index helps, so narrow the filter by time or queue.',
      }),
      path: t.string({
        description:
          'Names of members separated by dots, with array indexes as numbers (`items.0.sku`), or `*` for any element (`items.*.sku`). A backslash escapes a dot or a `*`.',
      }),
      op: t.field({ type: PayloadOperator, description: 'The comparison; `EQ` by default.' }),
      value: t.field({ type: 'JSON', description: 'The value to compare with: text, a number, true, false or null.' }),
      and: t.field({ type: [PayloadConditionInput], description: 'Conditions that must all hold.' }),
      or: t.field({ type: [PayloadConditionInput], description: 'Conditions of which at least one must hold.' }),
      not: t.field({ type: PayloadConditionInput, description: 'A condition that must not hold.' }),
    }),
  });

export const JobFilterInput = builder.inputType('JobFilter', {
  description:
    'A filter of jobs. All given members must hold; an empty filter matches all jobs. An empty list matches no job. A bulk action refuses a filter that has only empty lists, unless `all` is true. With `all`, the bulk action finds nothing.',
  fields: (t) => ({
    ids: t.idList({ description: 'Jobs with these ids; at most 100.' }),
    queueIds: t.idList({ description: 'Jobs of these queues.' }),
    queueNames: t.stringList({ description: 'Jobs of the queues with these names.' }),
    queueTags: t.stringList({
      description:
        'Jobs of the live queues that have at least one of these tags; at most 10 tags, which at most 100 queues have. A bulk action uses the queues that have the tags at the time of the request. The condition has no effect in `Queue.jobs`.',
    }),
    receivers: t.stringList({
      description:
        'Jobs of queues that deliver to one of these receivers, as in `Receiver.host`. A bulk action uses the queues that deliver to them at the time of the request.',
    }),
    states: t.field({ type: [JobStateName], description: 'Jobs in one of these states.' }),
    statuses: t.field({ type: [JobStatus], description: 'Jobs with one of these statuses.' }),
    created: t.field({ type: TimeRangeInput, description: 'Jobs published in this range.' }),
    scheduled: t.field({ type: TimeRangeInput, description: 'Jobs with `scheduledFor` in this range.' }),
    completed: t.field({ type: TimeRangeInput, description: 'Jobs completed in this range.' }),
    attempts: t.field({ type: IntRangeInput, description: 'Jobs with a number of attempts in this range.' }),
    deferCount: t.field({
      type: IntRangeInput,
      description: 'Jobs that have used a number of holds in this range.',
    }),
    waitReasons: t.field({
      type: [WaitReason],
      description:
        'Pending jobs that are not being delivered for one of these reasons, as in `Job.waiting`. Jobs of deleted queues are not found.',
    }),
    deadReasons: t.field({ type: [DeadReason], description: 'Dead jobs that died for one of these reasons.' }),
    replayable: t.boolean({
      description: 'True: only dead jobs whose dead letter was not replayed. False: only other jobs.',
    }),
    replayed: t.boolean({
      description: 'True: only dead jobs whose dead letter was replayed. False: only other jobs.',
    }),
    actionId: t.id({
      description: 'Jobs that this bulk action created (as replays) or changed.',
    }),
    idempotencyKey: t.string({ description: 'Jobs with exactly this idempotency key; at most one per queue.' }),
    idempotencyKeyContains: t.string({ description: 'Jobs whose idempotency key contains this text, ignoring case.' }),
    errorContains: t.string({ description: 'Jobs whose `lastError` contains this text, ignoring case.' }),
    webhookStatusCodes: t.intList({
      description: 'Jobs whose last attempt had an answer with one of these status codes.',
    }),
    webhookStatusClasses: t.intList({
      description:
        'Jobs whose last attempt had an answer of one of these classes: 2 for 2xx and so on, 0 for no answer. With `webhookStatusCodes` as well, a job matches if either does.',
    }),
    anyWebhookStatusCodes: t.intList({
      description: 'Jobs of which at least one attempt had an answer with one of these status codes.',
    }),
    anyWebhookStatusClasses: t.intList({
      description:
        'Jobs of which at least one attempt had an answer of one of these classes, as in `webhookStatusClasses`. With `anyWebhookStatusCodes` as well, a job matches if either does.',
    }),
    payload: t.field({ type: PayloadConditionInput, description: 'Jobs whose payload fulfils this condition.' }),
  }),
});

export const JobOrderInput = builder.inputType('JobOrder', {
  description: 'The order of jobs. Jobs with equal values are ordered by id.',
  fields: (t) => ({
    field: t.field({ type: JobOrderField, required: true, description: 'The field to order by.' }),
    direction: t.field({ type: OrderDirection, required: true, description: 'The direction of the order.' }),
  }),
});

type Given = typeof JobFilterInput.$inferInput | null | undefined;

/** Returns the filter with the queues that its tags mean. @throws JobferryError for tags */
export async function jobFilterOf(
  { services, account }: Pick<GraphQLContext, 'services' | 'account'>,
  input: Given,
): Promise<JobFilter> {
  const filter = toJobFilter(input);
  if (input?.queueTags == null) return filter;
  // As any other empty list of a filter: it matches nothing, and narrows no bulk action down.
  if (input.queueTags.length === 0) return { ...filter, queueIds: [] };
  const tagged = await services.queues.withTags(account, input.queueTags);
  const ids = tagged.filter((id) => filter.queueIds?.includes(id) ?? true);
  return { ...filter, queueIds: ids.length > 0 ? ids : [NO_QUEUE] };
}

/** Tags are left out. */
export function toJobFilter(input: Given): JobFilter {
  if (input == null) return {};
  const { queueTags: _tags, created, scheduled, completed, attempts, deferCount, payload, ...rest } = input;
  return given<JobFilter>({
    ...(rest as Nullable<JobFilter>),
    created: range(created),
    scheduled: range(scheduled),
    completed: range(completed),
    attempts: bounds(attempts),
    deferCount: bounds(deferCount),
    payload: payload == null ? undefined : toCondition(payload),
  });
}

export function toOrder(input: typeof JobOrderInput.$inferInput | null | undefined): JobOrder {
  return input == null
    ? { field: 'created_at', descending: true }
    : { field: input.field, descending: input.direction === 'desc' };
}

/** @throws JobferryError `invalid_request` */
export function toCondition(input: PayloadConditionShape, depth = 1): PayloadCondition {
  if (depth > FILTER_LIMITS.payloadNesting) {
    throw invalid(`payload conditions must be nested at most ${FILTER_LIMITS.payloadNesting} levels deep`);
  }
  const forms = [input.path, input.anywhere, input.and, input.or, input.not].filter((form) => form != null);
  if (forms.length !== 1) throw invalid('a payload condition must have exactly one of path, anywhere, and, or, not');
  if (input.anywhere != null) return { kind: 'anywhere', text: input.anywhere };
  if (input.not != null) return { kind: 'not', of: toCondition(input.not, depth + 1) };
  const several = input.and ?? input.or;
  if (several != null) {
    return { kind: input.and != null ? 'and' : 'or', of: several.map((part) => toCondition(part, depth + 1)) };
  }
  const value = input.value ?? null;
  if (typeof value === 'object' && value !== null) throw invalid('value must be text, a number, true, false or null');
  return { kind: 'test', path: input.path ?? '', op: input.op ?? 'EQ', value: value as JsonScalar };
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
