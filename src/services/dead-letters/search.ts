import { SearchBudget } from '../../db/search/budget.ts';
import {
  countDeadLetters,
  type DeadLetterScope,
  deadLetterIds,
  type ErrorGroupRow,
  errorGroups,
} from '../../db/search/dead-letters.ts';
import { JobferryError } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { type DeadLetterFilter, FILTER_LIMITS } from '../../domain/job-filter.ts';
import { isStorableText } from '../../domain/text.ts';
import { type Context, planOf } from '../context.ts';
import type { DeadLetterSearch, ErrorGroup } from '../dashboard.ts';
import type { Account } from '../index.ts';

/** Where counting stops at the latest. */
const MAX_COUNT = 10_000;

/**
 * Dead letters of the account's live queues, within the plan's window and retention.
 * @param request what the searches of one request share; left out, each has a budget of its own
 */
export function createDeadLetterSearch(
  context: Pick<Context, 'db' | 'periods' | 'plans'>,
  request?: { budget: SearchBudget },
): DeadLetterSearch {
  const { db, periods } = context;
  const scopeOf = (account: Account): DeadLetterScope => ({
    accountId: account.id,
    windowMs: Math.min(planOf(context, account).window * 1000, periods.retentionMs),
    periods,
  });
  const reading = (account: Account) => db.reading(account.id, { budget: request?.budget ?? new SearchBudget() });
  return {
    async searchDeadLetters(account, asked, { limit, after, before, inverted }) {
      const filter = matchable(asked);
      if (filter === null) return [];
      // The list begins with the newest: what comes after an entry has a smaller id.
      const range = { before: after?.id, after: before?.id, ascending: inverted, limit };
      const ids = await deadLetterIds(reading(account), scopeOf(account), filter, range);
      return ids.map((id) => ({ id }));
    },

    async countDeadLetters(account, asked, max) {
      const filter = matchable(asked);
      if (filter === null) return { count: 0, exact: true };
      const bound = Math.min(Math.max(Math.trunc(max), 0), MAX_COUNT);
      const found = await countDeadLetters(reading(account), scopeOf(account), filter, bound);
      return { count: Math.min(found, bound), exact: found <= bound };
    },

    async errorGroups(account, asked, limit) {
      const filter = matchable(asked);
      const rows = filter === null ? [] : await errorGroups(reading(account), scopeOf(account), filter, limit);
      const groups = new Map<string, ErrorGroup[]>();
      for (const row of rows) {
        const ofQueue = groups.get(row.queue_id);
        if (ofQueue === undefined) groups.set(row.queue_id, [toErrorGroup(row)]);
        else ofQueue.push(toErrorGroup(row));
      }
      return groups;
    },
  };
}

function toErrorGroup(row: ErrorGroupRow): ErrorGroup {
  return {
    fingerprint: row.fingerprint,
    reason: row.reason,
    webhookStatusCode: row.webhook_status_code,
    error: row.error,
    count: row.count,
    firstSeen: row.first_seen,
    lastSeen: row.last_seen,
    sampleDeadLetterId: row.sample,
  };
}

/** The last moment that an id can hold: 12 digits of milliseconds. */
const LAST_MOMENT = 2 ** 48 - 1;

/**
 * The filter in what the database can compare, or null when nothing can match, because no dead letter has a
 * text that cannot be stored.
 * @throws JobferryError `invalid_request` above the bounds on filters
 */
function matchable(filter: DeadLetterFilter): DeadLetterFilter | null {
  const { queueIds, reasons, fingerprints, webhookStatusCodes, errorContains, dead } = filter;
  const { listLength, textLength } = FILTER_LIMITS;
  for (const list of [queueIds, reasons, fingerprints, webhookStatusCodes]) {
    if (list !== undefined && list.length > listLength)
      throw tooLong(`lists of a filter have at most ${listLength} entries`);
  }
  if (errorContains !== undefined && errorContains.length > textLength) {
    throw tooLong(`errorContains has at most ${textLength} characters`);
  }
  if (errorContains !== undefined && !isStorableText(errorContains)) return null;
  const within = (at: Date | undefined) =>
    at === undefined ? undefined : new Date(Math.min(Math.max(at.getTime(), 0), LAST_MOMENT - 1));
  return {
    ...filter,
    queueIds: queueIds?.filter(isId),
    reasons: reasons?.filter(isStorableText),
    fingerprints: fingerprints?.filter(isStorableText),
    dead: dead === undefined ? undefined : { from: within(dead.from), to: within(dead.to) },
  };
}

function tooLong(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
