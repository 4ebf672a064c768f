import { assertBounds, assertList, assertRange, assertText, isClass, isSmallInteger } from './check-job-filter.ts';
import { ATTEMPT_STATUSES, type AttemptStatus } from './job.ts';
import type { IntRange, TimeRange } from './job-filter.ts';
import { isStorableText } from './text.ts';

/** All given members must hold; an empty filter matches all attempts. */
export interface AttemptFilter {
  queueIds?: readonly string[] | undefined;
  /** When the attempt ended. */
  at?: TimeRange | undefined;
  statuses?: readonly AttemptStatus[] | undefined;
  durationMs?: IntRange | undefined;
  /** With `webhookStatusClasses` as well, an attempt matches if either does. */
  webhookStatusCodes?: readonly number[] | undefined;
  /** First digits: 2 for 2xx and so on; 0 for no answer. */
  webhookStatusClasses?: readonly number[] | undefined;
  /** Literal, case-insensitive substring of the error. */
  errorContains?: string | undefined;
  /** Literal, case-insensitive substring of the stored part of the answer. Encrypted answers do not match. */
  responseContains?: string | undefined;
}

/** `duration`: only attempts with a duration are in the list. */
export const ATTEMPT_ORDER_FIELDS = ['ended_at', 'duration'] as const;

export interface AttemptOrder {
  field: (typeof ATTEMPT_ORDER_FIELDS)[number];
  descending: boolean;
}

/** @throws JobferryError `invalid_request` */
export function assertAttemptFilter(filter: AttemptFilter): void {
  assertList('queueIds', filter.queueIds, isStorableText);
  assertList('statuses', filter.statuses, (status) => ATTEMPT_STATUSES.includes(status));
  assertList('webhookStatusCodes', filter.webhookStatusCodes, isSmallInteger);
  assertList('webhookStatusClasses', filter.webhookStatusClasses, isClass);
  assertRange('at', filter.at);
  assertBounds('durationMs', filter.durationMs);
  assertText('errorContains', filter.errorContains);
  assertText('responseContains', filter.responseContains);
}
