import { JobferryError } from './errors.ts';
import type { DeadReason, JobStatus } from './job.ts';
import { FILTER_LIMITS } from './job-filter.ts';
import { isOwnError } from './outcome.ts';
import { isStorableText } from './text.ts';

/** The rules of bulk actions that need neither database nor clock. */

/** Jobs in one commit. */
export const BULK_BATCH = 500;

/** A higher rate would limit nothing: no queue is that fast. */
export const MAX_RATE_PER_SECOND = 100_000;

interface Pace {
  batchSize: number;
  /** Milliseconds from the end of one batch to the start of the next. */
  intervalMs: number;
}

/** Fewer batches would reach the receiver in bursts; more would be mostly overhead. */
const BATCHES_PER_SECOND = 5;

/**
 * Returns a pace that stays below the rate in any second, not only on average. Any closed second contains at
 * most as many batches as fit below the rate, because one more would span more than a second. So only the time
 * of the last batch has to be stored, which survives a restart.
 */
export function paceOf(ratePerSecond: number | null): Pace {
  if (ratePerSecond === null) return { batchSize: BULK_BATCH, intervalMs: 0 };
  const batchSize = Math.min(BULK_BATCH, Math.ceil(ratePerSecond / BATCHES_PER_SECOND));
  const batches = Math.floor(ratePerSecond / batchSize);
  // Times are truncated to milliseconds; the added one makes up for that.
  return { batchSize, intervalMs: Math.ceil(1000 / batches) + 1 };
}

/** Searches in a row that took too long, after which a bulk action fails: about 8 min of waiting. */
const MAX_SLOW_SEARCHES = 20;
const MAX_SLOW_WAIT_MS = 30_000;

/** The next step of a bulk action after a search for its next jobs that took too long: a wait, or its failure. */
type AfterSlowSearch = { waitMs: number; note: string } | { failed: string };

/**
 * A search of the same jobs was fast enough when they were counted, so the database is busy, or has got many more jobs.
 * @param inARow number of such searches since the last step that worked, with this one
 */
export function afterSlowSearch(inARow: number): AfterSlowSearch {
  const problem = 'the search for its next jobs took too long';
  if (inARow >= MAX_SLOW_SEARCHES) {
    return { failed: `${problem} ${inARow} times in a row: narrow the filter down by time, queue, state or payload` };
  }
  const waitMs = Math.min(1000 * 2 ** (inARow - 1), MAX_SLOW_WAIT_MS);
  const times = inARow === 1 ? '' : `, ${inARow} times in a row`;
  return { waitMs, note: `${problem}${times}; it is repeated after ${waitMs / 1000} s` };
}

/**
 * Whether a filter excludes nothing. An empty list, text or range counts as not given: a client that means
 * everything can request `all` instead.
 * @param ignored members that do not narrow the selection
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
 * Checks that a filter can be stored. A bulk action stores its filter and queries with it again for every batch.
 * @throws JobferryError `invalid_request` for text that cannot be stored, and for members that are too long
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

/**
 * Restores a filter from the JSON that the action stores: times are text there. `receivers` beside `queueIds` is only
 * shown to people. The condition is `queueIds`: the queues that delivered to these receivers when the action was
 * started, even if they deliver elsewhere now.
 */
export function filterOf<Filter extends object>(selection: unknown): Filter {
  const filter = { ...(selection as Record<string, unknown>) };
  if (filter.queueIds !== undefined) delete filter.receivers;
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

/** The job that a bulk action delivers before all others. `status` is null if the job was removed. */
export interface CanaryJob {
  id: string;
  status: JobStatus | null;
  deadReason: DeadReason | null;
  lastError: string | null;
}

/** Returns whether the other jobs may follow, must wait, or must not follow; `failed` then has the reason. */
export function checkCanary(canary: CanaryJob): 'go' | 'wait' | { failed: string } {
  if (canary.status === 'completed') return 'go';
  if (canary.status === null) return { failed: `the canary job ${canary.id} was removed before it had completed` };
  if (canary.status !== 'dead') return 'wait';
  if (canary.deadReason === 'cancelled') return { failed: `the canary job ${canary.id} was cancelled` };
  // The reason is stored, and shown to people without the right to see what receivers wrote: the job has their texts.
  const isShown = canary.lastError !== null && canary.lastError !== canary.deadReason && isOwnError(canary.lastError);
  const error = isShown ? `: ${canary.lastError}` : '';
  return { failed: `the canary job ${canary.id} died (${canary.deadReason})${error}` };
}
