import { type Answers, isWell, sumOfAnswers } from '../answers.ts';
import { many, NONE, number, percent, seconds, span } from '../format.ts';
import type { IconName, Signal } from '../words.ts';

/** What a replay costs, and whether it is safe: the texts of its dialog. */

/** Replays a second; null for no ceiling. */
export const SPEEDS = [1, 10, 50, null] as const;
export type Speed = (typeof SPEEDS)[number];
export const DEFAULT_SPEED: Speed = 10;

export const wordOfSpeed = (speed: number | null) =>
  speed === null ? 'As fast as limits allow' : `${number(speed)} a second`;

/** Settings and state of the queue that the replayed jobs go to. */
export interface ReplayQueue {
  name: string;
  paused: boolean;
  hold: { until: string } | null;
  concurrency: number;
  rateLimitMax: number | null;
  rateLimitWindow: number;
  maxAttempts: number;
  backoffType: 'EXPONENTIAL' | 'FIXED';
  backoffDelay: number;
  health: Answers | null;
}

/** How long it takes, by the lower of the speed and the queue's rate limit; null when neither is a limit. */
export function replayMs(jobs: number, speed: Speed, { rateLimitMax, rateLimitWindow }: ReplayQueue): number | null {
  const ofQueue = rateLimitMax === null ? Number.POSITIVE_INFINITY : rateLimitMax / rateLimitWindow;
  const perSecond = Math.min(speed ?? Number.POSITIVE_INFINITY, ofQueue);
  return perSecond === Number.POSITIVE_INFINITY ? null : (jobs / perSecond) * 1000;
}

/** The second figure of the price with its label. */
export function durationOfReplay(
  jobs: number,
  speed: Speed,
  queue: ReplayQueue,
): readonly [figure: string, label: string] {
  const ms = replayMs(jobs, speed, queue);
  if (ms === null) return [NONE, 'no ceiling: as fast as limits allow'];
  const isBySpeed = speed !== null && ms === replayMs(jobs, speed, { ...queue, rateLimitMax: null });
  return [span(ms), isBySpeed ? `at ${wordOfSpeed(speed)}` : 'at the queue’s rate limit'];
}

export function limitsOfQueue({ concurrency, rateLimitMax, rateLimitWindow }: ReplayQueue): string {
  const rate = rateLimitMax === null ? 'no rate limit' : `${number(rateLimitMax)} per ${seconds(rateLimitWindow)}`;
  return `The queue’s own limits still hold: ${number(concurrency)} at once, ${rate}.`;
}

export interface Safety {
  signal: Signal;
  icon: IconName;
  strong: string;
  text: string;
}

/** Whether the jobs would die again, by the receiver's answers of the last hour. */
export function safetyOfReplay({ paused, hold, health }: ReplayQueue): Safety {
  if (paused) {
    return {
      signal: 'idle',
      icon: 'paused',
      strong: 'The queue is paused.',
      text: 'The jobs wait until it is resumed.',
    };
  }
  if (hold !== null) {
    return {
      signal: 'hold',
      icon: 'held',
      strong: 'The queue is held.',
      text: 'The jobs wait for the end of the hold.',
    };
  }
  const all = health === null ? 0 : sumOfAnswers(health);
  if (health === null || all < 10) {
    return {
      signal: 'idle',
      icon: 'info',
      strong: 'Whether the receiver works is not known.',
      text:
        all === 0
          ? 'It had no delivery in the last hour. Send 1 first.'
          : `It had ${many(all, 'delivery', 'deliveries')} in the last hour. Send 1 first.`,
    };
  }
  const answered = `It answered 2xx to ${percent(health.answered2xx, all)} of ${many(all, 'delivery', 'deliveries')} of the last hour.`;
  if (isWell(health)) return { signal: 'ok', icon: 'done', strong: 'The receiver works.', text: answered };
  const isBad = health.answered2xx * 2 < all;
  return {
    signal: isBad ? 'bad' : 'warn',
    icon: 'failing',
    strong: isBad ? 'The receiver still fails.' : 'The receiver is not well yet.',
    text: `${answered} ${isBad ? 'Most of these jobs would die again.' : 'Some of these jobs would die again.'}`,
  };
}

/** What a replayed job is, and what it uses of the month. */
export function termsOfReplay(jobs: number, { maxAttempts, backoffType, backoffDelay }: ReplayQueue): string {
  const backoff = backoffType === 'FIXED' ? `${seconds(backoffDelay)} apart` : `backoff from ${seconds(backoffDelay)}`;
  const settings = maxAttempts === 1 ? 'one attempt' : `${many(maxAttempts, 'attempt')}, ${backoff}`;
  const most = jobs * maxAttempts;
  const use =
    most === jobs
      ? `Uses ${many(jobs, 'attempt')} of the month.`
      : `Uses at least ${number(jobs)} and at most ${many(most, 'attempt')} of the month.`;
  return `Each becomes a new job with a new id and the queue’s present settings: ${settings}. ${use}`;
}

/** That the plan would refuse a part of the replay; null if not. */
export function planRefusal(jobs: number, used: number, monthly: number | null): string | null {
  if (monthly === null || used + jobs <= monthly) return null;
  const left = Math.max(0, monthly - used);
  return left === 0
    ? `All ${number(monthly)} attempts of the month are used, so the replay will be refused.`
    : `Only ${many(left, 'attempt is', 'attempts are')} left of this month’s ${number(monthly)}: the replay will stop there.`;
}

/** The words on the button. */
export function deedOfReplay(jobs: number, canary: boolean): string {
  if (jobs <= 1 || !canary) return `Send ${number(jobs)} again`;
  return `Send 1, then ${number(jobs - 1)}`;
}
