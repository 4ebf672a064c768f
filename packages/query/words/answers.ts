import type { QueueNow } from '../schema/fragments.ts';
import { number } from './format.ts';

/** Codes of answers by which attempts are listed, with their labels. */
export const CODES = {
  '2xx': '2xx',
  '3xx': '3xx',
  '4xx': '4xx',
  '5xx': '5xx',
  '401': '401, signature rejected',
  '429': '429, too many',
  '500': '500',
  '503': '503, not now',
  busy: '429, 503 or 529',
  '0': 'none came',
} as const;

/** Answers of a receiver in the last hour, by class. */
export type Answers = Pick<
  NonNullable<QueueNow['health']>,
  `answered${2 | 3 | 4 | 5}xx` | 'unauthorized' | 'backpressure' | 'unanswered'
>;

interface AnswerClass {
  label: string;
  count: number;
  /** The code by which attempts are listed. */
  code: keyof typeof CODES;
}

const OTHERS: readonly (readonly [field: keyof Answers, label: string, code: keyof typeof CODES])[] = [
  ['answered3xx', '3xx', '3xx'],
  ['answered4xx', '4xx', '4xx'],
  ['unauthorized', '401', '401'],
  ['answered5xx', '5xx', '5xx'],
  ['backpressure', 'backpressure', 'busy'],
  ['unanswered', 'unanswered', '0'],
];

/** How many there were, how many were 2xx, and the others, most frequent first. */
export function answersOf(answers: Answers | null): { all: number; good: number; others: AnswerClass[] } {
  if (answers === null) return { all: 0, good: 0, others: [] };
  const others = OTHERS.map(([field, label, code]) => ({ label, code, count: answers[field] }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
  return { all: sumOfAnswers(answers), good: answers.answered2xx, others };
}

export function sumOfAnswers(answers: Answers): number {
  return OTHERS.reduce((sum, [field]) => sum + answers[field], answers.answered2xx);
}

/** The successes that outweigh the hour's failures. */
export interface SinceFailure {
  lastFailure?: { succeededSince: number } | null;
}

/** Whether the receiver failed in the last hour, and has accepted at least ten since, and failed none. */
export const hasRecovered = (health: SinceFailure | null): boolean =>
  (health?.lastFailure?.succeededSince ?? 0) >= MIN_ANSWERS;

/** "all 80 attempts since the last failure succeeded", if they outweigh the hour. */
export const sinceFailure = (health: SinceFailure | null): string | null =>
  hasRecovered(health)
    ? `all ${number(health?.lastFailure?.succeededSince ?? 0)} attempts since the last failure succeeded`
    : null;

const MIN_ANSWERS = 10;
const WELL_SHARE = 0.95;

/** Whether the receiver is well: at least 10 answers in the last hour, and 19 of 20 of them 2xx. */
export function isWell(answers: Answers | null): boolean {
  if (answers === null) return false;
  const all = sumOfAnswers(answers);
  return all >= MIN_ANSWERS && answers.answered2xx >= all * WELL_SHARE;
}
