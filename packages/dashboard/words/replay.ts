import { hasRecovered, type SinceFailure } from '../../query/words/answers.ts';
import { listed, many, NONE, number, percent, seconds, span } from '../../query/words/format.ts';
import type { IconName, Signal } from '../../query/words/words.ts';
import { isCounted, matchedText } from './matched.ts';

/** The texts of the replay dialog: its price, and whether it is safe. */

/** Replays per second; null for no limit. */
export const SPEEDS = [1, 10, 50, null] as const;
export type Speed = (typeof SPEEDS)[number];
export const DEFAULT_SPEED: Speed = 10;

export const wordOfSpeed = (speed: number | null) =>
  speed === null ? 'As fast as limits allow' : `${number(speed)} per second`;

/**
 * Whether no condition is left: what every replay implies, and the queue of one queue's replay, are none to the API.
 */
export const isEverything = (filter: object, isOfOneQueue: boolean) =>
  Object.keys(filter).every((name) => name === 'dismissed' || (isOfOneQueue && name === 'queueIds'));

/** How a queue that replayed jobs go to is now. */
export interface Receiver {
  name: string;
  paused: boolean;
  hold: { until: string } | null;
  /** The outcomes of the last hour's attempts, and of those with which it ended in failure before. */
  health:
    | (SinceFailure &
        Record<'attempts' | 'failed' | 'deferred', number> & {
          past: { attempts: number; failed: number } | null;
        })
    | null;
}

/** With the settings that the replayed jobs get. */
export interface ReplayQueue extends Receiver {
  concurrency: number;
  rateLimitMax: number | null;
  rateLimitWindow: number;
  maxAttempts: number;
  backoffType: 'EXPONENTIAL' | 'FIXED';
  backoffDelay: number;
}

type RateLimit = Pick<ReplayQueue, 'rateLimitMax' | 'rateLimitWindow'>;

/** How long it takes, by the lower of the speed and the queue's rate limit; null when neither is a limit. */
function replayMs(jobs: number, speed: Speed, queue: RateLimit | null): number | null {
  const limit = queue?.rateLimitMax ?? null;
  const ofQueue = queue === null || limit === null ? Number.POSITIVE_INFINITY : limit / queue.rateLimitWindow;
  const perSecond = Math.min(speed ?? Number.POSITIVE_INFINITY, ofQueue);
  return perSecond === Number.POSITIVE_INFINITY ? null : (jobs / perSecond) * 1000;
}

/** The second figure of the price with its label; the queue is null if there are several. */
export function durationOfReplay(
  jobs: number,
  speed: Speed,
  queue: RateLimit | null,
): readonly [figure: string, label: string] {
  const ms = replayMs(jobs, speed, queue);
  if (ms === null) return [NONE, 'as fast as limits allow'];
  const isBySpeed = speed !== null && ms === replayMs(jobs, speed, null);
  const figure = isCounted(jobs) ? span(ms) : `${span(ms)}+`;
  return [figure, isBySpeed ? `at ${wordOfSpeed(speed)}` : 'at the queue’s rate limit'];
}

export function limitsOfQueue(queue: ReplayQueue | null): string {
  if (queue === null) return 'Each queue’s own limits still apply.';
  const { concurrency, rateLimitMax, rateLimitWindow } = queue;
  const rate = rateLimitMax === null ? 'no rate limit' : `${number(rateLimitMax)} per ${seconds(rateLimitWindow)}`;
  return `The queue’s own limits still apply: ${number(concurrency)} at once, ${rate}.`;
}

interface Safety {
  signal: Signal;
  icon: IconName;
  strong: string;
  text: string;
}

const MIN_ATTEMPTS = 10;
const [WELL_SHARE, DEFERRED_SHARE] = [0.95, 0.2];

/** Whether the jobs may die again, by what became of the attempts of the last hour, or of the last ones before it. */
export function safetyOfReplay({ paused, hold, health }: Omit<Receiver, 'name'>): Safety {
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
      text: 'The jobs wait until it ends.',
    };
  }
  const all = health?.attempts ?? 0;
  const past = health?.past ?? null;
  const since = health?.lastFailure?.succeededSince ?? 0;
  const pastText = `${number(past?.failed ?? 0)} of ${many(past?.attempts ?? 0, 'attempt')} failed, and ${since === 0 ? 'none has' : many(since, 'has', 'have')} succeeded since`;
  if (past !== null && past.attempts >= MIN_ATTEMPTS) {
    const strong = 'The receiver was failing when it was last tried:';
    return { signal: 'bad', icon: 'failing', strong, text: `${pastText}. These jobs may die again, so send 1 first.` };
  }
  if (health === null || all < MIN_ATTEMPTS) {
    return {
      signal: 'idle',
      icon: 'info',
      strong: 'It is unknown whether the receiver works.',
      text:
        past !== null
          ? `${pastText}. Send 1 first.`
          : all === 0
            ? 'No attempt ended in the last hour. Send 1 first.'
            : `${many(all, 'attempt')} ended in the last hour. Send 1 first.`,
    };
  }
  if (hasRecovered(health)) {
    const text = `Attempts failed in the last hour, and all ${number(since)} since succeeded.`;
    return { signal: 'ok', icon: 'done', strong: 'The receiver works again.', text };
  }
  const { failed, deferred } = health;
  const good = all - failed - deferred;
  const ended = `${percent(good, all)} of ${many(all, 'attempt')} succeeded`;
  if (good >= all * WELL_SHARE) {
    return { signal: 'ok', icon: 'done', strong: 'The receiver was healthy in the last hour:', text: `${ended}.` };
  }
  const isBad = failed * 2 > all;
  if (!isBad && deferred > all * DEFERRED_SHARE) {
    const strong = 'The receiver deferred jobs in the last hour:';
    return { signal: 'hold', icon: 'pressure', strong, text: `${ended}.` };
  }
  const then = since > 0 ? `The last ${number(since)} succeeded` : 'These jobs may die again';
  const strong = `The receiver was ${isBad ? 'failing' : 'unreliable'} in the last hour:`;
  return { signal: isBad ? 'bad' : 'warn', icon: 'failing', strong, text: `only ${ended}. ${then}, so send 1 first.` };
}

/**
 * Decides for several queues: the worst of them counts. `isAll` is false if only those with the most jobs are known.
 */
export function safetyOfReplays(receivers: readonly Receiver[], isAll = true): Safety | null {
  const [first] = receivers;
  if (first === undefined) return null;
  if (receivers.length === 1) return safetyOfReplay(first);
  const of = (...signals: Signal[]) =>
    receivers.filter((receiver) => signals.includes(safetyOfReplay(receiver).signal)).map(({ name }) => name);
  const [ill, bad, unknown] = [of('bad', 'warn'), of('bad'), of('idle', 'hold')];
  const all = `Of ${isAll ? '' : 'the '}${number(receivers.length)} queues${isAll ? '' : ' with the most jobs'}`;
  if (ill.length > 0) {
    const when = receivers.some(({ health }) => health?.past != null) ? 'when last tried' : 'in the last hour';
    const text = `Jobs in ${namesText(ill)} may die again. Replay the others by their cause, or send 1 first.`;
    const strong = `${all}, ${many(ill.length, 'was', 'were')} unhealthy ${when}.`;
    return { signal: bad.length > 0 ? 'bad' : 'warn', icon: 'failing', strong, text };
  }
  if (unknown.length === 0)
    return { signal: 'ok', icon: 'done', strong: `${all}, all were healthy in the last hour.`, text: '' };
  const text = `Unknown: ${namesText(unknown)}. They are paused, held, deferring, or had too few attempts.`;
  const well = receivers.length - unknown.length;
  const strong = `${all}, ${many(well, 'was', 'were')} healthy in the last hour.`;
  return { signal: 'idle', icon: 'info', strong, text };
}

const MAX_NAMES = 3;

function namesText(names: readonly string[]): string {
  if (names.length <= MAX_NAMES) return listed(names);
  return listed([...names.slice(0, MAX_NAMES - 1), `${names.length - 2} more`]);
}

/** The settings of a replayed job, and its use of the month's attempts. */
export function termsOfReplay(jobs: number, queue: ReplayQueue | null): string {
  const text = (settings: string, attempts: string) =>
    `Each becomes a new job with a new id and its queue’s current settings${settings}. Uses ${attempts} of this month’s allowance.`;
  const least = `at least ${many(jobs, 'attempt')}`;
  if (queue === null) return text('', least);
  const { maxAttempts, backoffType, backoffDelay } = queue;
  const backoff = backoffType === 'FIXED' ? `${seconds(backoffDelay)} apart` : `backoff from ${seconds(backoffDelay)}`;
  const settings = `: ${many(maxAttempts, 'attempt')}${maxAttempts === 1 ? '' : `, ${backoff}`}`;
  if (!isCounted(jobs)) return text(settings, least);
  const most = many(jobs * maxAttempts, 'attempt');
  return text(settings, maxAttempts === 1 ? most : `${number(jobs)} to ${most}`);
}

/** Says that the plan would refuse a part of the replay; null if it would not. */
export function planRefusal(jobs: number, used: number, monthly: number | null): string | null {
  if (monthly === null || used + jobs <= monthly) return null;
  const left = Math.max(0, monthly - used);
  return left === 0
    ? `All ${number(monthly)} attempts of this month are used, so the replay will be refused.`
    : `Only ${many(left, 'attempt is', 'attempts are')} left of this month’s ${number(monthly)}: the replay will stop there.`;
}

/** The words on the button. */
export function labelOfReplay(jobs: number, canary: boolean): string {
  if (jobs <= 1 || !canary) return `Send ${matchedText(jobs)} again`;
  return `Send 1, then ${matchedText(jobs, jobs - 1)}`;
}
