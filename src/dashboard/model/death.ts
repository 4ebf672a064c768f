import { causeOf } from './cause.ts';
import { minute, span, times, type View } from './format.ts';
import { type Phrase, phrase } from './phrase.ts';

/** What jobs died of, as the title of a group of dead letters. */

export interface Death {
  reason: string;
  error: string | null;
  webhookStatusCode: number | null;
  firstSeen: string;
  lastSeen: string;
}

const REASONS: Readonly<Record<string, string>> = {
  ACK_TIMEOUT: 'The worker did not report in time',
  DEFER_CAP_EXHAUSTED: 'All holds were used',
  DELIVERY_LIFETIME_EXCEEDED: 'The lifetime ended before the delivery',
  QUEUE_DELETED: 'The queue was deleted',
  RETRY_AFTER_EXCEEDS_LIFETIME: 'The receiver asked to wait past the end of the lifetime',
};

export function titleOfDeath(death: Death, maxAttempts: number | null, webhookTimeoutSeconds: number): string {
  const { reason, error, webhookStatusCode: code } = death;
  if (reason === 'NACKED')
    return error === null ? 'The worker refused it for good' : `The worker refused it: “${error}”`;
  const known = REASONS[reason];
  if (known !== undefined) return known;
  if (code === 401) return 'The receiver rejected the signature (401)';
  const cause = causeOf(code === null ? error : `HTTP ${code}`, webhookTimeoutSeconds);
  const text = cause.charAt(0).toUpperCase() + cause.slice(1);
  return maxAttempts === null ? text : `${text}, ${times(maxAttempts)}`;
}

/** A cause without a death for so long is over, if the receiver is well. */
const OVER_AFTER_MS = 10 * 60_000;

/** When it began and ended, and whether it goes on. */
export function spanOfDeath({ firstSeen, lastSeen }: Death, view: View): { when: Phrase; state: string } {
  const [first, last] = [Date.parse(firstSeen), Date.parse(lastSeen)];
  const since = view.now - last;
  const at = (ms: number) => ({ at: ms, text: minute(ms, view) });
  return since < OVER_AFTER_MS
    ? { when: phrase`${at(first)} to now`, state: 'still going on' }
    : { when: phrase`${at(first)} to ${at(last)}`, state: `none for ${span(Math.floor(since / 60_000) * 60_000)}` };
}
