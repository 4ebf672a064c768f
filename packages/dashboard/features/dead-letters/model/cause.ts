import type { Cause } from '../../../../query/schema/fragments.ts';
import {
  type Answers,
  hasRecovered,
  isWell,
  type SinceFailure,
  sinceFailure,
  sumOfAnswers,
} from '../../../../query/words/answers.ts';
import {
  count,
  firstLineOf,
  listed,
  lowerFirst,
  many,
  NONE,
  percent,
  upperFirst,
  type View,
} from '../../../../query/words/format.ts';
import type { Signal } from '../../../../query/words/words.ts';
import { codeOf, isOfWorker, shortCause, titleOfDeath } from '../../../words/cause.ts';
import { RECENT_MS, spanOfDeath } from '../../../words/death.ts';
import { type Phrase, phrase, sentences } from '../../../words/phrase.ts';

/** A cause of death: dead letters of one queue with the same reason, code and error. */

export interface CauseNow extends Omit<Cause, 'fingerprint' | 'queue' | 'sample'> {
  /** The first line of the receiver's answer, if the causes are told apart by it. */
  answer?: string | null;
  queue:
    | (Omit<NonNullable<Cause['queue']>, '__typename' | 'maxAttempts'> & { health?: (Answers & SinceFailure) | null })
    | null;
  sample: Pick<NonNullable<Cause['sample']>, 'lastAttempt'> | null;
}

/**
 * The last text of the receiver or the worker in one line, else the error. It is unknown without the right to see it.
 */
export function saidOfCause({ error, sample }: Pick<CauseNow, 'error' | 'sample'>, isVisible = true): string {
  const line = firstLineOf(sample?.lastAttempt?.responseBody);
  if (line !== '') return line;
  if (codeOf(error) === null) return shortCause(error) || NONE;
  return isVisible ? 'an answer without a body' : NONE;
}

/**
 * `recovered`: the receiver has accepted ten in a row since its last failure. `recent`: a job died of it within 10 min.
 * `over`: none did, and the receiver was well in the last hour.
 */
type CauseCondition = 'recovered' | 'over' | 'recent' | 'unknown';

export function conditionOfCause(
  {
    reason,
    error,
    webhookStatusCode: code,
    lastSeen,
    queue,
  }: Pick<CauseNow, 'reason' | 'error' | 'webhookStatusCode' | 'lastSeen' | 'queue'>,
  now: number,
): CauseCondition {
  const isAboutReceiver = !isOfWorker(reason, { error, code });
  if (isAboutReceiver && hasRecovered(queue?.health ?? null)) return 'recovered';
  if (now - Date.parse(lastSeen) < RECENT_MS) return 'recent';
  return isAboutReceiver && isWell(queue?.health ?? null) ? 'over' : 'unknown';
}

export const CAUSE_TAGS: Readonly<Record<CauseCondition, { word: string; signal: Signal } | null>> = {
  recovered: { word: 'receiver works again', signal: 'ok' },
  over: { word: 'receiver healthy in the last hour', signal: 'ok' },
  recent: { word: 'recent', signal: 'bad' },
  unknown: null,
};

interface Reach {
  queueCount: number;
  queues: readonly { count: number; queue: { id: string; name: string } | null }[];
}

/** The dead letters that are hidden when a cause is dismissed: not those that are hidden already. */
export const hiddenBy = (fingerprint: string) => ({ fingerprints: [fingerprint], replayed: false, dismissed: false });

/**
 * Names all else that is hidden when a cause is dismissed in the row of a queue:
 * "106 dead letters in digests, geo and 2 more queues"; null if nothing is.
 */
export function reachBesides(group: Reach | undefined, queueId: string | null): string | null {
  const others = group?.queues.filter(({ queue }) => queue?.id !== queueId) ?? [];
  if (group === undefined || others.length === 0) return null;
  const names = others.slice(0, 3).map(({ queue }) => queue?.name ?? 'a deleted queue');
  const more = group.queueCount - (group.queues.length - others.length) - names.length;
  if (more > 0) names.push(many(more, 'more queue'));
  const letters = others.reduce((sum, { count: n }) => sum + n, 0);
  return `${count(letters, group.queueCount <= group.queues.length)} ${letters === 1 ? 'dead letter' : 'dead letters'} in ${listed(names)}`;
}

/** A cause that began within the last hour is new, unless most of them are. */
const NEW_MS = 3_600_000;

export function newCauses<Cause extends { firstSeen: string }>(causes: readonly Cause[], now: number): Set<Cause> {
  const found = new Set(causes.filter(({ firstSeen }) => now - Date.parse(firstSeen) < NEW_MS));
  return found.size * 2 > causes.length ? new Set() : found;
}

/**
 * The causes that are shown of one queue, the largest. One more is fetched, which tells whether a queue has others.
 */
const MOST_OF_QUEUE = 20;
/** The server returns at most so many, of all queues. */
const MOST_CAUSES = 100;

/**
 * The causes to show of those that the server returned, and whether they are all there are;
 * if not, what is counted of them is a lower bound.
 */
export function causesToShow<Of extends { queue: { id: string } | null }>(
  returned: readonly Of[],
): { causes: readonly Of[]; isAll: boolean } {
  const counts = new Map<string | undefined, number>();
  const causes = returned.filter(({ queue }) => {
    const place = (counts.get(queue?.id) ?? 0) + 1;
    counts.set(queue?.id, place);
    return place <= MOST_OF_QUEUE;
  });
  return { causes, isAll: causes.length === returned.length && returned.length < MOST_CAUSES };
}

/** "2 226 dead jobs have not been replayed (6 causes)." and, of the largest, its share and its newest death. */
export function headOfCauses(
  causes: readonly CauseNow[],
  { isAll = true, isDefault, view }: { isAll?: boolean; isDefault: boolean; view: View },
): { first: string; more: string } {
  const sum = causes.reduce((total, cause) => total + cause.count, 0);
  const [largest] = [...causes].sort((a, b) => b.count - a.count);
  const of = count(causes.length, isAll);
  const isOne = causes.length === 1;
  const isLed = largest !== undefined && largest.count * 2 >= sum;
  const what = isDefault
    ? `dead ${sum === 1 ? 'job has' : 'jobs have'} not been replayed`
    : `dead ${sum === 1 ? 'letter matches' : 'letters match'}`;
  const first = `${count(sum, isAll)} ${what}${isLed && !isOne ? '' : ` (${of} ${isOne ? 'cause' : 'causes'})`}.`;
  if (!isLed) return { first, more: '' };
  const { state } = spanOfDeath(largest, view);
  if (isOne) return { first, more: `${upperFirst(state)}.` };
  const share = `${isAll ? '' : 'at most '}${percent(largest.count, sum)}`;
  return { first, more: `One of ${of} causes accounts for ${share}, ${state}.` };
}

/** The lead of the largest cause: what happened when, and how the receiver is now. It is null without a queue. */
export function leadOfCause(cause: CauseNow, webhookTimeoutSeconds: number, view: View): Phrase | null {
  const { queue } = cause;
  if (queue === null) return null;
  const { when: range } = spanOfDeath(cause, view);
  const when = range[0] === 'at ' ? range : phrase`from ${range}`;
  const title = titleOfDeath(cause, webhookTimeoutSeconds).replace(/^Receiver |, [0-9\u202f]+\u00a0times$/g, '');
  const isOfReceiver = /^(answered|refused|did|cut|rejected|asked)/.test(title);
  const what = isOfReceiver
    ? phrase`The receiver of ${queue.name} ${title}`
    : phrase`${queue.name}: ${lowerFirst(title)}`;
  return sentences(
    phrase`${what} ${when}.`,
    isOfWorker(cause.reason, { error: cause.error, code: cause.webhookStatusCode })
      ? null
      : answersNow(queue.health ?? null),
  );
}

function answersNow(answers: (Answers & SinceFailure) | null): string | null {
  if (answers === null) return null;
  const since = sinceFailure(answers);
  if (since !== null) return `${upperFirst(since)}.`;
  const all = sumOfAnswers(answers);
  if (all === 0) return null;
  return `It accepted ${percent(answers.answered2xx, all)} of its deliveries in the last hour.`;
}
