import { causeOf, codeOf } from '../../../words/cause.ts';
import { lowerFirst, many, number, upperFirst, type View } from '../../../words/format.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';
import { attemptsOf, momentOf, type QueueNow } from './queue-condition.ts';

/** Why the attempts of a queue fail, how many, and until when. */

type Health = Pick<QueueNow, 'health'>;

/**
 * The cause that most of the failed attempts have in common, as the start of a sentence;
 * null if there is none, or it is not known.
 */
export function commonCause({ health }: Health): string | null {
  if (health === null) return null;
  const { lastFailure } = health;
  const judged = health.past ?? health;
  const error = lastFailure?.error ?? null;
  const classes = [
    [judged.answered5xx, 'The receiver answered 5xx', /^5/],
    [judged.answered4xx, 'The receiver answered 4xx', /^4/],
    [judged.unauthorized, 'The receiver answered 401', /^401/],
    [judged.answered3xx, 'The receiver redirected', /^3/],
    [judged.unanswered, 'The receiver did not answer', /^$/],
  ] as const;
  const [most, said, codes] = classes.reduce((best, one) => (one[0] > best[0] ? one : best));
  const isCommon = most * 2 > judged.failed;
  // Failures without an answer of the receiver behind them are those of its worker.
  const isOfLast = isCommon ? codes.test(String(codeOf(error) ?? '')) : most === 0;
  if (error === null || !isOfLast) return isCommon ? said : null;
  return error === 'timeout' ? 'The receiver did not answer in time' : upperFirst(causeOf(error, 0));
}

/** "All 100 attempts of the last hour failed, the last at 14:05:37." or that of attempts before it. */
export function failureText({ health }: Health, view: View): Phrase {
  const { past = null, lastFailure = null } = health ?? {};
  if (past !== null) return pastText(past, lastFailure, view);
  const { all, failed } = attemptsOf({ health });
  const which = shareText(failed, all);
  const last = lastFailure === null ? null : momentOf(Date.parse(lastFailure.at), view);
  return last === null || (lastFailure?.succeededSince ?? 0) > 0
    ? phrase`${which} of the last hour failed.`
    : phrase`${which} of the last hour failed, the last at ${last}.`;
}

const shareText = (failed: number, all: number) =>
  failed === all && all > 1 ? `All ${many(all, 'attempt')}` : `${number(failed)} of ${many(all, 'attempt')}`;

/** "All 100 attempts failed until 14:05:37; none has succeeded since." */
export function pastText(
  past: { attempts: number; failed: number },
  last: { at: string; succeededSince: number } | null,
  view: View,
): Phrase {
  const until = last === null ? '' : phrase` until ${momentOf(Date.parse(last.at), view)}`;
  const since = last?.succeededSince ?? 0;
  return phrase`${shareText(past.failed, past.attempts)} failed${until}; ${since === 0 ? 'none has' : many(since, 'has', 'have')} succeeded since.`;
}

/** The first line: the cause before the numbers. */
export function failureSentence(queue: Health, view: View): Phrase {
  const cause = commonCause(queue);
  const [first = '', ...rest] = failureText(queue, view);
  return cause === null || typeof first !== 'string' ? [first, ...rest] : [`${cause}: ${lowerFirst(first)}`, ...rest];
}
