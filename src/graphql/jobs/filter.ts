import { JobferryError } from '../../domain/errors.ts';
import type { JobFilter, JobOrder, JsonScalar, PayloadCondition } from '../../domain/job-filter.ts';
import { FILTER_LIMITS } from '../../domain/job-filter.ts';
import { builder } from '../builder.ts';
import { JobOrderField, JobStateName, JobStatus, OrderDirection, PayloadOperator } from '../enums.ts';
import { given, type Nullable, range, TimeRangeInput } from '../filter-input.ts';

const IntRangeInput = builder.inputType('IntRangeInput', {
  description: 'A range of whole numbers; both bounds are inclusive and optional.',
  fields: (t) => ({
    min: t.int({ description: 'Lower bound.' }),
    max: t.int({ description: 'Upper bound.' }),
  }),
});

interface PayloadConditionShape {
  path?: string | null | undefined;
  op?: PayloadOperatorName | null | undefined;
  value?: NonNullable<unknown> | null | undefined;
  and?: PayloadConditionShape[] | null | undefined;
  or?: PayloadConditionShape[] | null | undefined;
  not?: PayloadConditionShape | null | undefined;
}
type PayloadOperatorName = 'EQ' | 'NEQ' | 'CONTAINS' | 'EXISTS' | 'GT' | 'LT';

const PayloadConditionInput = builder.inputRef<PayloadConditionShape>('PayloadConditionInput').implement({
  description:
    'A condition on payloads: either `path` with `op` and `value`, or one of `and`, `or` and `not`. Example: `{path: "customer.id", op: EQ, value: 42}`.',
  fields: (t) => ({
    path: t.string({
      description:
        'Names of members separated by dots, with array indexes as numbers: `items.0.sku`. A backslash escapes a dot.',
    }),
    op: t.field({ type: PayloadOperator, description: 'The comparison; `EQ` by default.' }),
    value: t.field({ type: 'JSON', description: 'The value to compare with: text, a number, true, false or null.' }),
    and: t.field({ type: [PayloadConditionInput], description: 'Conditions that must all hold.' }),
    or: t.field({ type: [PayloadConditionInput], description: 'Conditions of which at least one must hold.' }),
    not: t.field({ type: PayloadConditionInput, description: 'A condition that must not hold.' }),
  }),
});

export const JobFilterInput = builder.inputType('JobFilter', {
  description: 'A filter of jobs. All given members must hold; an empty filter matches all jobs.',
  fields: (t) => ({
    queueIds: t.idList({ description: 'Jobs of these queues.' }),
    queueNames: t.stringList({ description: 'Jobs of the queues with these names.' }),
    states: t.field({ type: [JobStateName], description: 'Jobs in one of these states.' }),
    statuses: t.field({ type: [JobStatus], description: 'Jobs with one of these statuses.' }),
    created: t.field({ type: TimeRangeInput, description: 'Jobs published in this range.' }),
    scheduled: t.field({ type: TimeRangeInput, description: 'Jobs with `scheduledFor` in this range.' }),
    completed: t.field({ type: TimeRangeInput, description: 'Jobs completed in this range.' }),
    attempts: t.field({ type: IntRangeInput, description: 'Jobs with a number of attempts in this range.' }),
    idempotencyKeyContains: t.string({ description: 'Jobs whose idempotency key contains this text, ignoring case.' }),
    errorContains: t.string({ description: 'Jobs whose `lastError` contains this text, ignoring case.' }),
    webhookStatusCodes: t.intList({
      description: 'Jobs whose last attempt had an answer with one of these status codes.',
    }),
    webhookStatusClasses: t.intList({
      description:
        'Jobs whose last attempt had an answer of one of these classes: 2 for 2xx and so on, 0 for no answer. With `webhookStatusCodes` as well, a job matches if either does.',
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

export function toJobFilter(input: typeof JobFilterInput.$inferInput | null | undefined): JobFilter {
  if (input == null) return {};
  const { created, scheduled, completed, attempts, payload, ...rest } = input;
  return given<JobFilter>({
    ...(rest as Nullable<JobFilter>),
    created: range(created),
    scheduled: range(scheduled),
    completed: range(completed),
    attempts: attempts == null ? undefined : { min: attempts.min ?? undefined, max: attempts.max ?? undefined },
    payload: payload == null ? undefined : toCondition(payload, 1),
  });
}

export function toOrder(input: typeof JobOrderInput.$inferInput | null | undefined): JobOrder {
  return input == null
    ? { field: 'created_at', descending: true }
    : { field: input.field, descending: input.direction === 'desc' };
}

function toCondition(input: PayloadConditionShape, depth: number): PayloadCondition {
  if (depth > FILTER_LIMITS.payloadNesting) {
    throw invalid(`payload conditions must be nested at most ${FILTER_LIMITS.payloadNesting} levels deep`);
  }
  const forms = [input.path, input.and, input.or, input.not].filter((form) => form != null);
  if (forms.length !== 1) throw invalid('a payload condition must have exactly one of path, and, or, not');
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
