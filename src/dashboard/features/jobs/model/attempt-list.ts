import { CODES } from '../../../words/answers.ts';
import { type Count, count, time, took, type View } from '../../../words/format.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';

/** A list of attempts of many jobs: what it shows stands in its address. */

export interface AttemptList {
  /** Name. */
  queue: string | null;
  since: keyof typeof SINCE | null;
  code: string | null;
  took: keyof typeof TOOK | null;
  /** Text that the receiver's answer contains. */
  answer: string | null;
  order: 'latest' | null;
}

/** The last 24 hours, if nothing else is chosen. */
export const SINCE = {
  '15m': { label: 'the last 15 minutes', ms: 900_000 },
  '1h': { label: 'the last hour', ms: 3_600_000 },
  '3d': { label: 'the last 3 days', ms: 3 * 86_400_000 },
} as const;
const DAY_MS = 86_400_000;

export const TOOK = {
  '1s': { label: 'longer than 1 s', ms: 1000 },
  '5s': { label: 'longer than 5 s', ms: 5000 },
  '15s': { label: 'longer than 15 s', ms: 15_000 },
} as const;

export function attemptListOf(params: URLSearchParams): AttemptList {
  const of = <Name extends string>(names: Readonly<Record<Name, unknown>>, value: string | null) =>
    value !== null && Object.hasOwn(names, value) ? (value as Name) : null;
  const text = (name: string) => params.get(name) || null;
  return {
    ...{ queue: text('queue'), answer: text('answer'), code: of(CODES, params.get('code')) },
    ...{ since: of(SINCE, params.get('since')), took: of(TOOK, params.get('took')) },
    order: params.get('order') === 'latest' ? 'latest' : null,
  };
}

/** The members of `AttemptFilter` of the schema that the dashboard uses. */
export interface AttemptFilter {
  at: { from: string };
  queueIds?: string[];
  webhookStatusCodes?: number[];
  webhookStatusClasses?: number[];
  durationMs?: { min: number };
  responseContains?: string;
}

/** The filter for the API, as of `now`; `queueId` is that of the queue's name. */
export function toAttemptFilter(list: AttemptList, queueId: string | null, now: number): AttemptFilter {
  const { since, code, answer } = list;
  const isClass = code === '0' || code?.endsWith('xx') === true;
  return {
    at: { from: new Date(now - (since === null ? DAY_MS : SINCE[since].ms)).toISOString() },
    ...(queueId !== null && { queueIds: [queueId] }),
    ...(code !== null && {
      [isClass ? 'webhookStatusClasses' : 'webhookStatusCodes']:
        code === 'busy' ? [429, 503, 529] : [Number.parseInt(code, 10)],
    }),
    ...(list.took !== null && { durationMs: { min: TOOK[list.took].ms + 1 } }),
    ...(answer !== null && { responseContains: answer }),
  };
}

/** "1 204 attempts match. The slowest took 14.8 s." */
export function sentenceOfAttempts(
  all: Count,
  first: { durationMs: number | null; at: string } | undefined,
  { order }: AttemptList,
  view: View,
): Phrase {
  if (first === undefined) return phrase`No attempt matches.`;
  const found = `${count(all.count, all.exact)} ${all.count === 1 ? 'attempt matches' : 'attempts match'}`;
  if (order === 'latest') {
    const at = Date.parse(first.at);
    return phrase`${found}. The last one ended at ${{ at, text: time(at, view) }}.`;
  }
  return phrase`${found}. The slowest took ${took(first.durationMs ?? 0)}.`;
}
