import { type Answers, isWell, sumOfAnswers } from '../answers.ts';
import { codeOf, type DeadReason, isOfWorker, shortCause, titleOfDeath } from '../cause.ts';
import { firstLineOf, lowerFirst, minute, NONE, number, percent, span, upperFirst, type View } from '../format.ts';
import { type Phrase, phrase, sentences, type TimePiece } from '../phrase.ts';
import type { Signal } from '../words.ts';

/** A cause of death: dead letters of one queue with the same reason, code and error. */

export interface CauseNow {
  reason: DeadReason;
  error: string | null;
  webhookStatusCode: number | null;
  count: number;
  firstSeen: string;
  lastSeen: string;
  /** The first line of the receiver's answer, if the causes are told apart by it. */
  answer?: string | null;
  /** Null if it has been removed. */
  queue: { id: string; name: string; maxDefers: number; ackTimeout: number; health?: Answers | null } | null;
  /** Null if it has been removed. */
  sample: { lastAttempt: { attempt: number; responseBody: string | null } | null } | null;
}

/** What the receiver or the worker said last, in one line; else the error. Without the right to see it, it is not known. */
export function saidOfCause({ error, sample }: Pick<CauseNow, 'error' | 'sample'>, isVisible = true): string {
  const line = firstLineOf(sample?.lastAttempt?.responseBody);
  if (line !== '') return line;
  if (codeOf(error) === null) return shortCause(error) || NONE;
  return isVisible ? 'an answer without a body' : NONE;
}

/** Below this age of its last death a cause is taken to go on. */
const RECENT_MS = 10 * 60_000;

/** `over`: nothing died of it for 10 min, and the receiver is well. `failing`: jobs still die of it. */
export type CauseCondition = 'over' | 'failing' | 'unknown';

export function conditionOfCause(
  { reason, error, lastSeen, queue }: Pick<CauseNow, 'reason' | 'error' | 'lastSeen' | 'queue'>,
  now: number,
): CauseCondition {
  if (now - Date.parse(lastSeen) < RECENT_MS) return 'failing';
  if (isOfWorker(reason, error)) return 'unknown';
  return isWell(queue?.health ?? null) ? 'over' : 'unknown';
}

export const CAUSE_TAGS: Readonly<Record<CauseCondition, { word: string; signal: Signal } | null>> = {
  over: { word: 'receiver is well', signal: 'ok' },
  failing: { word: 'still failing', signal: 'bad' },
  unknown: null,
};

/** A cause that began within the last hour is new, unless most of them are. */
const NEW_MS = 3_600_000;

export function newCauses<Cause extends { firstSeen: string }>(causes: readonly Cause[], now: number): Set<Cause> {
  const found = new Set(causes.filter(({ firstSeen }) => now - Date.parse(firstSeen) < NEW_MS));
  return found.size * 2 > causes.length ? new Set() : found;
}

const at = (ms: number, view: View): TimePiece => ({ at: ms, text: minute(ms, view) });

/** When jobs died of it: "09:12 to 09:41", and "over for 2 h 23 min". */
export function timesOfCause(cause: CauseNow, view: View): { range: Phrase; since: Phrase } {
  const [first, last] = [Date.parse(cause.firstSeen), Date.parse(cause.lastSeen)];
  const condition = conditionOfCause(cause, view.now);
  const end = condition === 'failing' ? 'now' : at(last, view);
  const since =
    condition === 'over'
      ? phrase`over for ${span(view.now - last)}`
      : phrase`last one ${{ at: last, text: roughlyAgo(last, view) }}`;
  const isOneMinute = end !== 'now' && minute(first, view) === minute(last, view);
  return { range: isOneMinute ? phrase`at ${end}` : phrase`${at(first, view)} to ${end}`, since };
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** The largest unit only: 17 min ago. */
export function roughlyAgo(ms: number, { now }: View): string {
  const passed = now - ms;
  const [unit, word] = UNITS.find(([size]) => passed >= size) ?? [0, ''];
  return unit === 0 ? 'now' : `${Math.floor(passed / unit)}\u00a0${word}\u00a0ago`;
}

/** "2 226 jobs died and were not replayed, of 6 causes." and what is to know of the largest of them. */
export function headOfCauses(
  causes: readonly CauseNow[],
  { isDefault, now }: { isDefault: boolean; now: number },
): { first: string; more: string } {
  const sum = causes.reduce((total, { count }) => total + count, 0);
  const [largest] = [...causes].sort((a, b) => b.count - a.count);
  const of = causes.length === 1 ? 'one cause' : `${number(causes.length)} causes`;
  const first = isDefault
    ? `${number(sum)} ${sum === 1 ? 'job died and was' : 'jobs died and were'} not replayed, of ${of}.`
    : `${number(sum)} dead ${sum === 1 ? 'letter matches' : 'letters match'}, of ${of}.`;
  if (largest === undefined || largest.count * 2 < sum) return { first, more: '' };
  const how = { over: 'it is over', failing: 'jobs still die of it', unknown: '' }[conditionOfCause(largest, now)];
  if (causes.length === 1) return { first, more: how === '' ? '' : `${upperFirst(how)}.` };
  return { first, more: `One cause is ${percent(largest.count, sum)} of them${how === '' ? '' : `, and ${how}`}.` };
}

/** Of the largest cause: what happened when, and how the receiver is now. Null without a queue. */
export function leadOfCause(cause: CauseNow, webhookTimeoutSeconds: number, view: View): Phrase | null {
  const { queue } = cause;
  if (queue === null) return null;
  const { range } = timesOfCause(cause, view);
  const when = range.length > 2 || range[0] !== 'at ' ? phrase`from ${range}` : range;
  const title = titleOfDeath(cause, webhookTimeoutSeconds).replace(/^Receiver |, [a-z0-9\u202f]+( times)?$/g, '');
  const isOfReceiver = /^(answered|refused|did|cut|rejected|asked)/.test(title);
  const what = isOfReceiver ? phrase`${queue.name} ${title}` : phrase`${queue.name}: ${lowerFirst(title)}`;
  return sentences(
    phrase`${what} ${when}.`,
    isOfWorker(cause.reason, cause.error) ? null : answersNow(queue.health ?? null),
  );
}

function answersNow(answers: Answers | null): string | null {
  if (answers === null) return null;
  const all = sumOfAnswers(answers);
  if (all === 0) return null;
  return `In the last hour it answered 2xx to ${percent(answers.answered2xx, all)} of its deliveries.`;
}
