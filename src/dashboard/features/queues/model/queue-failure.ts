import { causeOf, codeOf } from '../../../words/cause.ts';
import { lowerFirst, many, number, upperFirst, type View } from '../../../words/format.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';
import { attemptsOf, momentOf, type QueueNow } from './queue-condition.ts';

/** Why the attempts of a queue fail, how many, and until when. */

type Health = Pick<QueueNow, 'health'>;

/** The cause that most of the failed attempts have in common, as the start of a sentence; null if there is none, or it is not known. */
export function commonCause({ health }: Health): string | null {
  if (health === null) return null;
  const { failed, lastFailure, past } = health;
  const error = lastFailure?.error ?? null;
  const classes = [
    [health.answered5xx, 'The receiver answered 5xx', /^5/],
    [health.answered4xx, 'The receiver answered 4xx', /^4/],
    [health.unauthorized, 'The receiver answered 401', /^401/],
    [health.answered3xx, 'The receiver redirected', /^3/],
    [health.unanswered, 'The receiver did not answer', /^$/],
  ] as const;
  const [most, said, codes] = classes.reduce((best, one) => (one[0] > best[0] ? one : best));
  const isCommon = most * 2 > failed;
  // Failures without an answer of the receiver behind them are those of its worker.
  const isOfLast = past !== null || (isCommon ? codes.test(String(codeOf(error) ?? '')) : most === 0);
  if (error === null || !isOfLast) return isCommon ? said : null;
  return error === 'timeout' ? 'The receiver did not answer in time' : upperFirst(causeOf(error, 0));
}

/** "All 100 attempts of the last hour failed, the last at 14:05:37." or "90 of 100 attempts failed until 14:05:37; none has succeeded since." */
export function failureText({ health }: Health, view: View): Phrase {
  const { past = null, lastFailure = null } = health ?? {};
  const { all, failed } = past === null ? attemptsOf({ health }) : { ...past, all: past.attempts };
  const which =
    failed === all && all > 1 ? `All ${many(all, 'attempt')}` : `${number(failed)} of ${many(all, 'attempt')}`;
  const last = lastFailure === null ? null : momentOf(Date.parse(lastFailure.at), view);
  if (past !== null) {
    return last === null
      ? phrase`${which} failed; none has succeeded since.`
      : phrase`${which} failed until ${last}; none has succeeded since.`;
  }
  return last === null || (lastFailure?.succeededSince ?? 0) > 0
    ? phrase`${which} of the last hour failed.`
    : phrase`${which} of the last hour failed, the last at ${last}.`;
}

/** The first line: the cause before the numbers. */
export function failureSentence(queue: Health, view: View): Phrase {
  const cause = commonCause(queue);
  const [first = '', ...rest] = failureText(queue, view);
  return cause === null || typeof first !== 'string' ? [first, ...rest] : [`${cause}: ${lowerFirst(first)}`, ...rest];
}
