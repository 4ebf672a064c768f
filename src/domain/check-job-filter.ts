import { JobferryError } from './errors.ts';
import { isId } from './id.ts';
import { DEAD_REASONS, JOB_STATUSES } from './job.ts';
import {
  FILTER_LIMITS,
  type IntRange,
  JOB_STATES,
  type JobFilter,
  type JsonScalar,
  PAYLOAD_OPERATORS,
  type PayloadCondition,
  type TimeRange,
} from './job-filter.ts';
import { parsePath } from './payload-path.ts';
import { isStorableText, shortened } from './text.ts';
import { WAIT_REASONS } from './waiting.ts';

/**
 * Checks a filter against `FILTER_LIMITS` and against what the database can compare. An id or a name that the
 * account does not have is no error: it matches nothing.
 * @throws JobferryError `invalid_request`
 */
export function assertJobFilter(filter: JobFilter): void {
  assertList('ids', filter.ids, isStorableText);
  assertList('queueIds', filter.queueIds, isStorableText);
  assertList('queueNames', filter.queueNames, isFilterText);
  assertList('receivers', filter.receivers, isFilterText);
  assertList('states', filter.states, (state) => JOB_STATES.includes(state));
  assertList('statuses', filter.statuses, (status) => JOB_STATUSES.includes(status));
  assertList('deadReasons', filter.deadReasons, (reason) => DEAD_REASONS.includes(reason));
  assertList('waitReasons', filter.waitReasons, (reason) => WAIT_REASONS.includes(reason));
  assertList('webhookStatusCodes', filter.webhookStatusCodes, isSmallInteger);
  assertList('webhookStatusClasses', filter.webhookStatusClasses, isClass);
  assertList('anyWebhookStatusCodes', filter.anyWebhookStatusCodes, isSmallInteger);
  assertList('anyWebhookStatusClasses', filter.anyWebhookStatusClasses, isClass);
  assertRange('created', filter.created);
  assertRange('scheduled', filter.scheduled);
  assertRange('completed', filter.completed);
  assertBounds('attempts', filter.attempts);
  assertBounds('deferCount', filter.deferCount);
  if (filter.actionId !== undefined && !isId(filter.actionId)) throw invalid('actionId: not the id of a bulk action');
  assertText('idempotencyKey', filter.idempotencyKey);
  assertText('idempotencyKeyContains', filter.idempotencyKeyContains);
  assertText('errorContains', filter.errorContains);
  if (filter.payload !== undefined) assertPayloadCondition(filter.payload);
}

/** @throws JobferryError `invalid_request` */
export function assertPayloadCondition(condition: PayloadCondition): void {
  const { payloadConditions, payloadNesting } = FILTER_LIMITS;
  let leaves = 0;
  const visit = (part: PayloadCondition, depth: number) => {
    if (depth > payloadNesting) throw invalid(`payload conditions nest at most ${payloadNesting} deep`);
    if (part.kind === 'test' || part.kind === 'anywhere') {
      leaves += 1;
      if (leaves > payloadConditions) throw invalid(`a filter has at most ${payloadConditions} payload conditions`);
      if (part.kind === 'test') assertTest(part);
      else assertAnywhere(part.text);
    } else if (part.kind === 'not') {
      visit(part.of, depth + 1);
    } else {
      if (part.of.length === 0) throw invalid(`payload condition "${part.kind}" needs at least one condition`);
      for (const inner of part.of) visit(inner, depth + 1);
    }
  };
  visit(condition, 1);
}

function assertAnywhere(text: string): void {
  if (text === '') throw invalid('a payload condition with `anywhere` needs a text');
  assertText('anywhere', text);
}

function assertTest({ path, op, value }: Extract<PayloadCondition, { kind: 'test' }>): void {
  parsePath(path);
  if (!PAYLOAD_OPERATORS.includes(op)) throw invalid(`unknown payload operator ${String(op)}`);
  assertScalar(path, value);
  const type = typeof value;
  if ((op === 'GT' || op === 'LT') && type !== 'string' && type !== 'number') {
    throw invalid(`payload path ${path}: ${op} needs a number or a text`);
  }
  // A client could take `false` for "does not exist"; that condition is `not`.
  if (op === 'EXISTS' && value !== null && value !== true) throw invalid(`payload path ${path}: EXISTS takes no value`);
}

function assertScalar(path: string, value: JsonScalar): void {
  if (value === null || typeof value === 'boolean') return;
  if (typeof value === 'string') {
    assertText(`payload path ${path}`, value);
  } else if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw invalid(`payload path ${path}: the value must be a text, a number, true, false or null`);
  }
}

export function assertList<T>(name: string, list: readonly T[] | undefined, isValid: (item: T) => boolean): void {
  if (list === undefined) return;
  if (list.length > FILTER_LIMITS.listLength) throw invalid(`${name}: at most ${FILTER_LIMITS.listLength} entries`);
  const wrong = list.find((item) => !isValid(item));
  if (wrong !== undefined) throw invalid(`${name}: ${shortened(JSON.stringify(wrong))} is not a valid value`);
}

/** Whether a name can be compared: no longer than any text of a filter. */
function isFilterText(text: string): boolean {
  return text.length <= FILTER_LIMITS.textLength && isStorableText(text);
}

export function assertRange(name: string, range: TimeRange | undefined): void {
  for (const at of [range?.from, range?.to]) {
    if (at !== undefined && Number.isNaN(at.getTime())) throw invalid(`${name}: must be a valid time`);
  }
  // Nothing is in such a range, and an exact 0 would look like an answer.
  if (isAbove(range?.from, range?.to)) throw invalid(`${name}: from must not be after to`);
}

export function assertBounds(name: string, range: IntRange | undefined): void {
  for (const bound of [range?.min, range?.max]) {
    if (bound !== undefined && !isSmallInteger(bound)) throw invalid(`${name}: bounds must be whole numbers`);
  }
  if (isAbove(range?.min, range?.max)) throw invalid(`${name}: min must not be above max`);
}

function isAbove<T extends Date | number>(lower: T | undefined, upper: T | undefined): boolean {
  return lower !== undefined && upper !== undefined && lower > upper;
}

export function assertText(name: string, text: string | undefined): void {
  if (text === undefined) return;
  if (text.length > FILTER_LIMITS.textLength) throw invalid(`${name}: at most ${FILTER_LIMITS.textLength} characters`);
  if (!isStorableText(text)) throw invalid(`${name}: must not contain NUL or lone surrogates`);
}

/** Whether the number is the first digit of a status code, or 0. */
export function isClass(digit: number): boolean {
  return Number.isInteger(digit) && digit >= 0 && digit <= 9;
}

/** Whether PostgreSQL's type `integer` can hold the value. */
export function isSmallInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 31;
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
