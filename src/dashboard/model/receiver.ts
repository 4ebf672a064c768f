/** Answers of a receiver in the last hour. */
export interface Answers {
  answered2xx: number;
  answered3xx: number;
  answered4xx: number;
  answered5xx: number;
  unauthorized: number;
  backpressure: number;
  unanswered: number;
}

const MIN_ANSWERS = 10;
const WELL_SHARE = 0.95;

/** Whether a receiver is well again: at least 10 answers in the last hour, and 95 % of them 2xx. */
export function isWell(answers: Answers): boolean {
  const { answered2xx: good, ...others } = answers;
  const all =
    good +
    others.answered3xx +
    others.answered4xx +
    others.answered5xx +
    others.unauthorized +
    others.backpressure +
    others.unanswered;
  return all >= MIN_ANSWERS && good / all >= WELL_SHARE;
}
