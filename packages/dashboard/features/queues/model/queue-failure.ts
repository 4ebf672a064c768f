import { lowerFirst, many, number, type View } from '../../../../query/words/format.ts';
import { causeOf, codeOf } from '../../../words/cause.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';
import { attemptsOf, type QueueNow } from './queue-condition.ts';
import { momentOf } from './queue-texts.ts';

/** Why the attempts of a queue fail, how many, and until when. */

type Health = Pick<QueueNow, 'health'>;

/**
 * The kind of answer that most of the failed attempts got, as the start of a sentence; null if there is none. Attempts
 * are counted by kind: the code or the error is known of the last one only, and may not be that of the others.
 */
export function commonCause({ health }: Health): string | null {
  if (health === null) return null;
  const judged = health.past ?? health;
  const kinds = [
    [judged.answered5xx, 'The receiver answered 5xx'],
    [judged.answered4xx, 'The receiver answered 4xx'],
    [judged.unauthorized, 'The receiver answered 401'],
    [judged.answered3xx, 'The receiver redirected'],
    [judged.unanswered, 'No valid answer from the receiver'],
  ] as const;
  const [most, said] = kinds.reduce((best, one) => (one[0] > best[0] ? one : best));
  return most * 2 > judged.failed ? said : null;
}

/**
 * The cause of the last failure, as the end of "the last one": " with code 503", " because it refused the connection".
 * Empty if it is not known, or if the common cause says it.
 */
export function causeOfLast({ health }: Health, common: string | null): string {
  const error = health?.lastFailure?.error ?? null;
  if (error === null) return '';
  const code = codeOf(error);
  if (code !== null) return common?.endsWith(` ${code}`) === true ? '' : ` with code ${code}`;
  const clause = error === 'timeout' ? 'the receiver did not answer in time' : causeOf(error, 0);
  const said = common === null ? clause : clause.replace(/^the receiver’s /, 'its ').replace(/^the receiver /, 'it ');
  // A row of Overview ends its bold part at a colon.
  return ` because ${said.replace(/: (.*)/, ' ($1)')}`;
}

/**
 * "All 100 attempts of the last hour failed, the last one at 14:05:37 because the receiver did not answer in time." or
 * that of attempts before it.
 * @param cause " because the receiver did not answer in time"; empty to leave it out
 */
export function failureText({ health }: Health, view: View, cause = ''): Phrase {
  const { past = null, lastFailure = null } = health ?? {};
  if (past !== null) return pastText(past, lastFailure, view, cause);
  const { all, failed } = attemptsOf({ health });
  const which = shareText(failed, all);
  const last = lastFailure === null ? null : momentOf(Date.parse(lastFailure.at), view);
  const hasTime = last !== null && (lastFailure?.succeededSince ?? 0) === 0;
  const when = hasTime ? phrase` at ${last}` : '';
  const end = cause !== '' ? phrase`, the last one${when}${cause}` : hasTime ? phrase`, the last${when}` : '';
  return phrase`${which} of the last hour failed${end}.`;
}

const shareText = (failed: number, all: number) =>
  failed === all && all > 1 ? `All ${many(all, 'attempt')}` : `${number(failed)} of ${many(all, 'attempt')}`;

/** "All 100 attempts failed until 14:05:37; none has succeeded since." */
export function pastText(
  past: { attempts: number; failed: number },
  last: { at: string; succeededSince: number } | null,
  view: View,
  cause = '',
): Phrase {
  const until = last === null ? '' : phrase` until ${momentOf(Date.parse(last.at), view)}`;
  const why = cause === '' ? '' : `, the last one${cause}`;
  const since = last?.succeededSince ?? 0;
  return phrase`${shareText(past.failed, past.attempts)} failed${until}${why}; ${since === 0 ? 'none has' : many(since, 'has', 'have')} succeeded since.`;
}

/** The first line: what most failures have in common before the numbers, and the cause of the last one. */
export function failureSentence(queue: Health, view: View): Phrase {
  const common = commonCause(queue);
  const [first = '', ...rest] = failureText(queue, view, causeOfLast(queue, common));
  return common === null || typeof first !== 'string' ? [first, ...rest] : [`${common}: ${lowerFirst(first)}`, ...rest];
}
