import { JobferryError } from './errors.ts';
import type { DeadReason, JobStatus } from './job.ts';
import { FILTER_LIMITS } from './job-filter.ts';
import { isStorableText } from './text.ts';

/** The rules of bulk actions that need neither database nor clock. */

/** Jobs in one commit. */
export const BULK_BATCH = 500;

/** Above this a rate is no ceiling any more: it is more than a queue can do. */
export const MAX_RATE_PER_SECOND = 100_000;

interface Pace {
  batchSize: number;
  /** From the end of one batch to the start of the next, in milliseconds. */
  intervalMs: number;
}

/** Batches of a second: fewer would come in lumps at the receiver, more would be all overhead. */
const BATCHES_PER_SECOND = 5;

/**
 * How to stay below a rate over any second, and not only on average: in a closed second lie at most as
 * many batches as fit below the ceiling, because one more would span more than a second. So nothing
 * but the time of the last batch has to be remembered, which survives a restart.
 */
export function paceOf(ratePerSecond: number | null): Pace {
  if (ratePerSecond === null) return { batchSize: BULK_BATCH, intervalMs: 0 };
  const batchSize = Math.min(BULK_BATCH, Math.ceil(ratePerSecond / BATCHES_PER_SECOND));
  const batches = Math.floor(ratePerSecond / batchSize);
  // Moments are cut to milliseconds, so one more makes sure.
  return { batchSize, intervalMs: Math.ceil(1000 / batches) + 1 };
}

/**
 * Whether a filter leaves everything in. An empty list, text or range counts as not given: who meant
 * something by it loses nothing by having to say `all`.
 * @param ignored members that do not narrow down what the action is about anyway
 */
export function matchesEverything(filter: object, ignored: readonly string[] = []): boolean {
  return Object.entries(filter).every(([name, member]) => ignored.includes(name) || isBlank(member));
}

function isBlank(member: unknown): boolean {
  if (member === undefined || member === null || member === '') return true;
  if (Array.isArray(member)) return member.length === 0;
  if (member instanceof Date || typeof member !== 'object') return false;
  return Object.values(member).every(isBlank);
}

/**
 * A filter is kept with the action, and asked again for every batch.
 * @throws JobferryError `invalid_request` for text that cannot be kept, and for what is too long
 */
export function assertKeepable(filter: object): void {
  for (const member of Object.values(filter)) {
    if (typeof member === 'string') assertText(member);
    if (Array.isArray(member) && member.length > FILTER_LIMITS.listLength) {
      throw new JobferryError('invalid_request', `a list of a filter has at most ${FILTER_LIMITS.listLength} members`);
    }
    if (member instanceof Date && Number.isNaN(member.getTime())) {
      throw new JobferryError('invalid_request', 'a time of the filter is not valid');
    }
    if (typeof member === 'object' && member !== null) assertKeepable(member);
  }
}

function assertText(text: string): void {
  if (text.length > FILTER_LIMITS.textLength) {
    throw new JobferryError('invalid_request', `a text of a filter has at most ${FILTER_LIMITS.textLength} characters`);
  }
  if (!isStorableText(text)) {
    throw new JobferryError('invalid_request', 'a text of a filter must not contain NUL or lone surrogates');
  }
}

const RANGES = ['dead', 'created', 'scheduled', 'completed'] as const;

/** A filter as it was asked for, from what the action kept as JSON: times are text there. */
export function filterOf<Filter extends object>(selection: unknown): Filter {
  const filter = { ...(selection as Record<string, unknown>) };
  for (const name of RANGES) {
    const range = filter[name] as { from?: string; to?: string } | undefined;
    if (range === undefined) continue;
    filter[name] = {
      from: range.from === undefined ? undefined : new Date(range.from),
      to: range.to === undefined ? undefined : new Date(range.to),
    };
  }
  return filter as Filter;
}

/** The job that was sent ahead; without a status it is gone. */
export interface CanaryJob {
  id: string;
  status: JobStatus | null;
  deadReason: DeadReason | null;
  lastError: string | null;
}

/** Whether the rest may follow, must wait, or must not follow: then the answer says why. */
export function judgeCanary(canary: CanaryJob): 'go' | 'wait' | { failed: string } {
  if (canary.status === 'completed') return 'go';
  if (canary.status === null) return { failed: `the canary job ${canary.id} was removed before it had completed` };
  if (canary.status !== 'dead') return 'wait';
  if (canary.deadReason === 'cancelled') return { failed: `the canary job ${canary.id} was cancelled` };
  const error = canary.lastError === null || canary.lastError === canary.deadReason ? '' : `: ${canary.lastError}`;
  return { failed: `the canary job ${canary.id} died (${canary.deadReason})${error}` };
}
