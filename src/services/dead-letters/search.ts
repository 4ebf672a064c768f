import type { Attempt } from '../../db/generated/client.ts';
import type { DeadLetterRow } from '../../db/rows.ts';
import { SearchBudget } from '../../db/search/budget.ts';
import { countDeadLetters, type DeadLetterScope, deadLetterRows } from '../../db/search/dead-letters.ts';
import {
  type ErrorGroupRow,
  errorGroups,
  errorGroupsAcrossQueues,
  type GroupOptions,
} from '../../db/search/error-groups.ts';
import type { Account } from '../../domain/account.ts';
import { assertPayloadCondition, assertRange } from '../../domain/check-job-filter.ts';
import { JobferryError } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { DeadReason } from '../../domain/job.ts';
import { type DeadLetterFilter, FILTER_LIMITS } from '../../domain/job-filter.ts';
import { type BoundedCount, MAX_COUNT, type Slice } from '../../domain/page.ts';
import { isStorableText } from '../../domain/text.ts';
import type { Context } from '../context.ts';
import { windowOf } from '../pages.ts';

export { MAX_QUEUES_OF_GROUP } from '../../db/search/error-groups.ts';

/** Dead letters with the same fingerprint, of one queue or of several. */
export interface ErrorGroup {
  /** The first 100 queues of the group and its number in each, largest first. */
  queues: { id: string; count: number }[];
  /** Number of all its queues. */
  queueCount: number;
  /** First line of the webhook's last answer without ids and numbers; null unless groups are divided by it. */
  answer: string | null;
  fingerprint: string;
  reason: DeadReason;
  /** HTTP status of the webhook's last answer; null when there was none. */
  webhookStatusCode: number | null;
  /** The error of the newest member. */
  error: string | null;
  count: number;
  firstSeen: Date;
  lastSeen: Date;
  /** The newest member that was not replayed; the newest member when all were. */
  sample: DeadLetterRow;
  /** The last attempt of that job, as it is stored; null if it was not asked for, or there is none. */
  lastAttempt: Attempt | null;
}

/**
 * Dead letters of the account's live queues, within the plan's window and retention.
 * @param request the budget that the searches of one request share; when left out, each search has its own
 */
export function createDeadLetterSearch(
  context: Pick<Context, 'db' | 'periods' | 'plans'>,
  request?: { budget: SearchBudget },
) {
  const { db, periods } = context;
  const scopeOf = (account: Account): DeadLetterScope => ({
    accountId: account.id,
    windowMs: windowOf(context, account),
    periods,
  });
  const reading = (account: Account) => db.reading(account.id, { budget: request?.budget ?? new SearchBudget() });
  return {
    /**
     * Returns a slice of the matching dead letters, most recently dead first.
     * @throws JobferryError `invalid_request` (filter), `unavailable`
     */
    async search(
      account: Account,
      wanted: DeadLetterFilter,
      { limit, after, before, inverted }: Slice,
    ): Promise<DeadLetterRow[]> {
      const filter = matchable(wanted);
      if (filter === null) return [];
      // The list begins with the newest: entries after another one have smaller ids.
      const range = { before: after?.id, after: before?.id, ascending: inverted, limit };
      return deadLetterRows(reading(account), scopeOf(account), filter, range);
    },

    /**
     * Counts the matching dead letters, up to `max` (10 000 at most).
     * @throws JobferryError `invalid_request` (filter), `unavailable`
     */
    async count(account: Account, wanted: DeadLetterFilter, max: number): Promise<BoundedCount> {
      const filter = matchable(wanted);
      if (filter === null) return { count: 0, exact: true };
      const bound = Math.min(Math.max(Math.trunc(max), 0), MAX_COUNT);
      const found = await countDeadLetters(reading(account), scopeOf(account), filter, bound);
      return { count: Math.min(found, bound), exact: found <= bound };
    },

    /**
     * Returns the matching dead letters in groups, up to `limit` per queue and the largest first. Queues without a
     * match are left out.
     * @throws JobferryError `invalid_request` (filter), `unavailable`
     */
    async errorGroups(
      account: Account,
      wanted: DeadLetterFilter,
      options: GroupOptions,
    ): Promise<Map<string, ErrorGroup[]>> {
      const filter = matchable(wanted);
      const rows = filter === null ? [] : await errorGroups(reading(account), scopeOf(account), filter, options);
      const groups = new Map<string, ErrorGroup[]>();
      for (const row of rows) {
        const queueId = row.queues[0]?.id ?? '';
        groups.set(queueId, [...(groups.get(queueId) ?? []), toErrorGroup(row)]);
      }
      return groups;
    },

    /**
     * Returns the matching dead letters in groups over all queues, the largest first.
     * @throws JobferryError `invalid_request` (filter), `unavailable`
     */
    async errorGroupsAcrossQueues(
      account: Account,
      wanted: DeadLetterFilter,
      options: GroupOptions,
    ): Promise<ErrorGroup[]> {
      const filter = matchable(wanted);
      if (filter === null) return [];
      const rows = await errorGroupsAcrossQueues(reading(account), scopeOf(account), filter, options);
      return rows.map(toErrorGroup);
    },
  };
}

function toErrorGroup(row: ErrorGroupRow): ErrorGroup {
  return {
    queues: row.queues,
    queueCount: row.queue_count,
    answer: row.answer,
    fingerprint: row.fingerprint,
    reason: row.reason,
    webhookStatusCode: row.webhook_status_code,
    error: row.error,
    count: row.count,
    firstSeen: row.first_seen,
    lastSeen: row.last_seen,
    sample: row.sample,
    lastAttempt: row.lastAttempt,
  };
}

/** The last moment that an id can hold: 12 digits of milliseconds. */
const LAST_MOMENT = 2 ** 48 - 1;

/**
 * Returns the filter in the form that the database compares; null when nothing can match, because the filter contains
 * text that cannot be stored.
 * @throws JobferryError `invalid_request` above the bounds on filters
 */
function matchable(filter: DeadLetterFilter): DeadLetterFilter | null {
  const { ids, queueIds, receivers, reasons, fingerprints, answers, webhookStatusCodes, errorContains, dead, payload } =
    filter;
  const { listLength, textLength } = FILTER_LIMITS;
  for (const list of [ids, queueIds, receivers, reasons, fingerprints, answers, webhookStatusCodes]) {
    if (list !== undefined && list.length > listLength)
      throw tooLong(`lists of a filter have at most ${listLength} entries`);
  }
  if (errorContains !== undefined && errorContains.length > textLength) {
    throw tooLong(`errorContains has at most ${textLength} characters`);
  }
  assertRange('dead', dead);
  if (payload !== undefined) assertPayloadCondition(payload);
  if (errorContains !== undefined && !isStorableText(errorContains)) return null;
  const within = (at: Date | undefined) =>
    at === undefined ? undefined : new Date(Math.min(Math.max(at.getTime(), 0), LAST_MOMENT - 1));
  return {
    ...filter,
    ids: ids?.filter(isId),
    queueIds: queueIds?.filter(isId),
    receivers: receivers?.filter(isStorableText),
    answers: answers?.filter(isStorableText),
    reasons: reasons?.filter(isStorableText),
    fingerprints: fingerprints?.filter(isStorableText),
    dead: dead === undefined ? undefined : { from: within(dead.from), to: within(dead.to) },
  };
}

function tooLong(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
