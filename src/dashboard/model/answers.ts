/** Answers of a receiver in the last hour, by class. The fragment `QueueNow` has these fields. */
interface Health {
  answered2xx: number;
  answered3xx: number;
  answered4xx: number;
  answered5xx: number;
  unauthorized: number;
  backpressure: number;
  unanswered: number;
}

export interface AnswerClass {
  label: string;
  count: number;
  /** As in the filter of jobs. */
  codes: readonly string[];
}

const OTHERS: readonly (readonly [field: keyof Health, label: string, codes: readonly string[]])[] = [
  ['answered3xx', '3xx', ['3xx']],
  ['answered4xx', '4xx', ['4xx']],
  ['unauthorized', '401', ['401']],
  ['answered5xx', '5xx', ['5xx']],
  ['backpressure', 'backpressure', ['429', '503', '529']],
  ['unanswered', 'unanswered', ['0']],
];

/** How many there were, how many were 2xx, and the others, most frequent first. */
export function answersOf(health: Health | null): { all: number; good: number; others: AnswerClass[] } {
  if (health === null) return { all: 0, good: 0, others: [] };
  const others = OTHERS.map(([field, label, codes]) => ({ label, codes, count: health[field] }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
  const good = health.answered2xx;
  return { all: others.reduce((sum, { count }) => sum + count, good), good, others };
}
