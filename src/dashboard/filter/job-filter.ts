import type { Chip, Filter, PayloadOp, Scalar, StateName, TimeRange } from './chips.ts';
import { DEAD_REASONS, type DeadReasonName, WAITS, type WaitName } from './reasons.ts';
import { resolveBound } from './time-bound.ts';

/** The members of `JobFilter` of the schema that the dashboard uses. */
export interface JobFilter {
  states?: ('DUE' | 'SCHEDULED' | 'RETRYING' | 'HELD' | 'PROCESSING' | 'AWAITING_ACK' | 'COMPLETED' | 'DEAD')[];
  queueNames?: string[];
  webhookStatusCodes?: number[];
  webhookStatusClasses?: number[];
  errorContains?: string;
  idempotencyKey?: string;
  idempotencyKeyContains?: string;
  attempts?: { min?: number; max?: number };
  deferCount?: { min?: number; max?: number };
  anyWebhookStatusCodes?: number[];
  anyWebhookStatusClasses?: number[];
  deadReasons?: (typeof DEAD_REASONS)[DeadReasonName][];
  waitReasons?: (typeof WAITS)[WaitName][];
  actionId?: string;
  ids?: string[];
  replayable?: boolean;
  created?: { from?: string; to?: string };
  completed?: { from?: string; to?: string };
  scheduled?: { from?: string; to?: string };
  payload?: PayloadCondition;
}

export interface PayloadCondition {
  path?: string;
  op?: PayloadOp;
  value?: Scalar;
  anywhere?: string;
  and?: PayloadCondition[];
  or?: PayloadCondition[];
}

/** The filter for the API, with relative times as of `now`. Unknown chips have no effect: ask `isValid` before. */
export function toJobFilter(filter: Filter, now: number): JobFilter {
  const result: JobFilter = Object.assign({}, ...filter.map((chip) => conditionOf(chip, now)));
  const payload = payloadConditions(filter);
  if (payload !== null) result.payload = payload;
  return result;
}

/** Joins all chips about payloads, which must all hold. Returns null if there are none. */
export function payloadConditions(filter: readonly { word: string }[]): PayloadCondition | null {
  const conditions = (filter as Filter).flatMap((chip) => {
    if (chip.word === 'text') return [{ anywhere: chip.text }];
    return chip.word === 'payload' ? [payloadCondition(chip)] : [];
  });
  const [first] = conditions;
  return first === undefined ? null : conditions.length === 1 ? first : { and: conditions };
}

function conditionOf(chip: Chip, now: number): JobFilter {
  switch (chip.word) {
    case 'state':
      return { states: chip.values.map(stateOf) };
    case 'queue':
      return { queueNames: [...chip.values] };
    case 'code':
      return codes(chip.values);
    case 'ever': {
      const { webhookStatusCodes: single, webhookStatusClasses: classes } = codes(chip.values);
      return {
        ...(single !== undefined && { anyWebhookStatusCodes: single }),
        ...(classes !== undefined && { anyWebhookStatusClasses: classes }),
      };
    }
    case 'reason':
      return { deadReasons: chip.values.map((name) => DEAD_REASONS[name]) };
    case 'waits':
      return { waitReasons: chip.values.map((name) => WAITS[name]) };
    case 'action':
      return { actionId: chip.id };
    case 'error':
      return { errorContains: chip.text };
    case 'key':
      return chip.isExact === true ? { idempotencyKey: chip.text } : { idempotencyKeyContains: chip.text };
    case 'attempts':
    case 'holds': {
      const range = { ...(chip.min !== null && { min: chip.min }), ...(chip.max !== null && { max: chip.max }) };
      return { [chip.word === 'holds' ? 'deferCount' : 'attempts']: range };
    }
    case 'created':
    case 'completed':
    case 'scheduled':
      return { [chip.word]: timeRange(chip.range, now) };
    default:
      return {};
  }
}

function stateOf(name: StateName) {
  return name.toUpperCase().replace('-', '_') as NonNullable<JobFilter['states']>[number];
}

function codes(values: readonly string[]): JobFilter {
  const isClass = (code: string) => code === '0' || code.endsWith('xx');
  const single = values.filter((code) => !isClass(code)).map(Number);
  const classes = values.filter(isClass).map((code) => Number(code[0]));
  return {
    ...(single.length > 0 && { webhookStatusCodes: single }),
    ...(classes.length > 0 && { webhookStatusClasses: classes }),
  };
}

function timeRange({ from, to }: TimeRange, now: number): { from?: string; to?: string } {
  const at = (bound: string, side: 'from' | 'to') => new Date(resolveBound(bound, side, now)).toISOString();
  return { ...(from !== null && { from: at(from, 'from') }), ...(to !== null && { to: at(to, 'to') }) };
}

function payloadCondition({ path, op, values }: Extract<Chip, { word: 'payload' }>): PayloadCondition {
  if (op === 'EXISTS') return { path, op };
  const each = values.map((value) => ({ path, op, value }));
  return each.length === 1 ? (each[0] as PayloadCondition) : { or: each };
}
