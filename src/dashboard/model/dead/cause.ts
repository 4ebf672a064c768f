import { type Answers, isWell, sumOfAnswers } from '../answers.ts';
import { causeOf, codeOf, shortCause } from '../cause.ts';
import { minute, NONE, number, percent, seconds, span, times, type View } from '../format.ts';
import { type Phrase, phrase, sentences, type TimePiece } from '../phrase.ts';
import type { Signal } from '../words.ts';

/** A cause of death: dead letters of one queue with the same reason, code and error. */

export type DeadReason =
  | 'ACK_TIMEOUT'
  | 'ATTEMPTS_EXHAUSTED'
  | 'CANCELLED'
  | 'DEFER_CAP_EXHAUSTED'
  | 'DELIVERY_LIFETIME_EXCEEDED'
  | 'NACKED'
  | 'QUEUE_DELETED'
  | 'RETRY_AFTER_EXCEEDS_LIFETIME';

export interface CauseNow {
  reason: DeadReason;
  error: string | null;
  webhookStatusCode: number | null;
  count: number;
  firstSeen: string;
  lastSeen: string;
  /** Null if it has been removed: then the queue is not known. */
  sample: {
    queue: { id: string; name: string; maxDefers: number; ackTimeout: number; health?: Answers | null } | null;
    lastAttempt: { attempt: number; responseBody: string | null } | null;
  } | null;
}

/** Why jobs died, for the row of a cause: "Receiver answered 500, five times". */
export function titleOfCause(
  {
    reason,
    error,
    webhookStatusCode: code,
    sample,
  }: Pick<CauseNow, 'reason' | 'error' | 'webhookStatusCode' | 'sample'>,
  webhookTimeoutSeconds: number,
): string {
  const answer = code === null ? '' : ` (${code})`;
  const queue = sample?.queue ?? null;
  switch (reason) {
    case 'ACK_TIMEOUT':
      return `Worker did not report ${queue === null ? 'in time' : `within ${seconds(queue.ackTimeout)}`}`;
    case 'NACKED':
      return 'Worker refused it for good';
    case 'DEFER_CAP_EXHAUSTED':
      return `${queue === null ? 'All' : `All ${number(queue.maxDefers)}`} holds were used up${answer}`;
    case 'RETRY_AFTER_EXCEEDS_LIFETIME':
      return `Receiver asked to wait past the end of the lifetime${answer}`;
    case 'DELIVERY_LIFETIME_EXCEEDED':
      return 'Lifetime ended before it was delivered';
    case 'QUEUE_DELETED':
      return 'Queue was deleted';
    case 'CANCELLED':
      return 'Cancelled';
    case 'ATTEMPTS_EXHAUSTED': {
      if (code === 401) return 'Receiver rejected the signature (401)';
      if (error === 'ack_timeout' && queue !== null) return `Worker did not report within ${seconds(queue.ackTimeout)}`;
      const attempts = sample?.lastAttempt?.attempt ?? 1;
      return `${subject(causeOf(error, webhookTimeoutSeconds))}${attempts > 1 ? `, ${times(attempts)}` : ''}`;
    }
  }
}

/** The clause as the start of a title: "the receiver answered 500" is "Receiver answered 500". */
function subject(clause: string): string {
  const text = clause.replace(/^the /, '').replace(/^its /, 'receiver’s ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What the receiver or the worker said last, in one line; else the error. */
export function saidOfCause({ error, sample }: Pick<CauseNow, 'error' | 'sample'>): string {
  const body = sample?.lastAttempt?.responseBody ?? '';
  const line = body.trim().split(/\r?\n/, 1)[0] ?? '';
  if (line !== '') return line;
  return codeOf(error) === null ? shortCause(error) || NONE : 'an answer without a body';
}

/** Below this age of its last death a cause is taken to go on. */
const RECENT_MS = 10 * 60_000;

/** `over`: nothing died of it for 10 min, and the receiver is well. `failing`: jobs still die of it. */
export type CauseCondition = 'over' | 'failing' | 'unknown';

export function conditionOfCause(
  { reason, error, lastSeen, sample }: Pick<CauseNow, 'reason' | 'error' | 'lastSeen' | 'sample'>,
  now: number,
): CauseCondition {
  if (now - Date.parse(lastSeen) < RECENT_MS) return 'failing';
  if (isOfWorker(reason, error)) return 'unknown';
  return isWell(sample?.queue?.health ?? null) ? 'over' : 'unknown';
}

export const CAUSE_TAGS: Readonly<Record<CauseCondition, { word: string; signal: Signal } | null>> = {
  over: { word: 'receiver is well', signal: 'ok' },
  failing: { word: 'still failing', signal: 'bad' },
  unknown: null,
};

/** The worker failed after the receiver had answered 2xx, so the receiver's answers say nothing of it. */
function isOfWorker(reason: DeadReason, error: string | null): boolean {
  return reason === 'ACK_TIMEOUT' || reason === 'NACKED' || error === 'ack_timeout';
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
  if (causes.length === 1) return { first, more: how === '' ? '' : `${how.charAt(0).toUpperCase()}${how.slice(1)}.` };
  return { first, more: `One cause is ${percent(largest.count, sum)} of them${how === '' ? '' : `, and ${how}`}.` };
}

/** Of the largest cause: what happened when, and how the receiver is now. Null without a queue. */
export function leadOfCause(cause: CauseNow, webhookTimeoutSeconds: number, view: View): Phrase | null {
  const queue = cause.sample?.queue ?? null;
  if (queue === null) return null;
  const { range } = timesOfCause(cause, view);
  const when = range.length > 2 || range[0] !== 'at ' ? phrase`from ${range}` : range;
  const title = titleOfCause(cause, webhookTimeoutSeconds).replace(/^Receiver |, [a-z0-9\u202f]+( times)?$/g, '');
  const isOfReceiver = /^(answered|refused|did|cut|rejected|asked)/.test(title);
  const what = isOfReceiver
    ? phrase`${queue.name} ${title}`
    : phrase`${queue.name}: ${title.charAt(0).toLowerCase()}${title.slice(1)}`;
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
