import { lowerFirst, many, minute, NONE, number, percent, time, type View } from '../../../../query/words/format.ts';
import type { IconName, Signal } from '../../../../query/words/words.ts';
import { textOfPhrase } from '../../../words/phrase.ts';
import { pastText } from './queue-failure.ts';

/** Sentences about a receiver: a host with its queues. */

interface Health {
  attempts: number;
  /** With those that a worker nacked or did not report on in time, after a 2xx answer. */
  failed: number;
  /** By the receiver's answers, or without one. */
  refused: number;
  answered2xx: number;
  /** Answers that deferred the job: 429, 503 and 529. */
  backpressure: number;
  failingQueues: number;
  /** The receiver works again, and these would fail by their hour. */
  untriedQueues: number;
  acceptedAt: string | null;
  /** The last one of all queues; null unless one of them, or all together, failed for the most part. */
  lastFailure: { at: string; succeededSince: number } | null;
  /** The attempts of the failing queues, if they are not those of the hour. */
  past: { attempts: number; failed: number } | null;
}

export interface Receiver {
  host: string;
  queueCount: number;
  pausedQueues: number;
  heldQueues: number;
  ackQueues: number;
  health: Health | null;
}

/** The server groups so many queues of an account by their receivers, the oldest. */
const MOST_QUEUES = 1000;

/** Says that receivers of newer queues are not known; undefined if there are none. */
export const partText = (queues = 0): string | undefined =>
  queues > MOST_QUEUES ? `Only the oldest ${number(MOST_QUEUES)} of ${number(queues)} queues are covered.` : undefined;

type Trouble = 'fails' | 'nothing' | 'held' | 'untried' | 'pressure' | 'paused';

/** So much backpressure is a warning of a queue, too. */
const LEAST_DEFERRED = 3;
const SHARE_DEFERRED = 0.2;

/** With those of before the receiver worked again: their own rows say so, until they are tried. */
export const failingOf = (health: Health | null) => (health?.failingQueues ?? 0) + (health?.untriedQueues ?? 0);

/** The states of queues and what the receiver answered, worst first. */
function trouble({ queueCount, pausedQueues, heldQueues, health }: Receiver): Trouble | null {
  const { attempts = 0, answered2xx = 0, backpressure = 0, failingQueues = 0 } = health ?? {};
  // A paused queue tries no more, so its failures are of the past.
  if (pausedQueues === queueCount) return 'paused';
  if (failingQueues > 0) return 'fails';
  if (backpressure > 0 && answered2xx === 0) return 'nothing';
  if (heldQueues > 0) return 'held';
  if (failingOf(health) > 0) return 'untried';
  return backpressure >= LEAST_DEFERRED && backpressure > attempts * SHARE_DEFERRED ? 'pressure' : null;
}

/** "All 3 queues that deliver to a.example are"; the subject of a sentence with its verb. */
function queuesOf(part: number, { queueCount: all, host }: Receiver): string {
  const queues =
    part === all ? (all === 1 ? 'The queue' : `All ${number(all)} queues`) : `${number(part)} of ${many(all, 'queue')}`;
  return `${queues} that ${all === 1 ? 'delivers' : 'deliver'} to ${host} ${part === 1 ? 'is' : 'are'}`;
}

/** The answer of the page: does the receiver accept what is sent? */
export function sentenceOfReceiver(receiver: Receiver, view: View): string {
  const { host, pausedQueues } = receiver;
  if (trouble(receiver) === 'paused') {
    const { health } = receiver;
    const isWell = health === null || (health.lastFailure === null && failingOf(health) === 0);
    const before = isWell
      ? ''
      : ` ${pastOf(health, 'Before, ', view) ?? recoveryOf(health, host, view) ?? ofHour(health, 'Before, ')}`;
    return `${queuesOf(pausedQueues, receiver)} paused.${before}`;
  }
  const paused = pausedQueues === 0 ? '' : ` ${many(pausedQueues, 'queue is', 'queues are')} paused.`;
  return `${answerOf(receiver, view)}${paused}`;
}

function answerOf(receiver: Receiver, view: View): string {
  const { host, heldQueues, health } = receiver;
  const { attempts = 0, failed = 0, refused = 0, backpressure = 0, failingQueues: failing = 0 } = health ?? {};
  const deferred = `${number(backpressure)} of ${many(attempts, 'attempt')}`;
  switch (trouble(receiver)) {
    case 'fails': {
      const past = pastOf(health, '', view);
      if (past !== null) return `${queuesOf(failing, receiver)} failing: ${past}`;
      const since = recoveryOf(health, host, view);
      return `${queuesOf(failing, receiver)} failing: ${ofHour(health, '')}${since === null ? '' : ` ${since}`}`;
    }
    case 'nothing': {
      const others = refused > 0 ? `, ${number(refused)} failed` : '';
      return `${host} accepts nothing: ${deferred} in the last hour ${backpressure === 1 ? 'was' : 'were'} deferred${others}.`;
    }
    case 'held':
      return `${queuesOf(heldQueues, receiver)} held.`;
    case 'pressure':
      return `${host} deferred ${deferred} in the last hour.`;
    default: {
      const since = recoveryOf(health, host, view);
      const untried = failingOf(health);
      if (since !== null)
        return untried === 0
          ? since
          : `${since} ${many(untried, 'queue has', 'queues have')} had too few attempts since.`;
      if (attempts === 0) return `No attempt to ${host} ended in the last hour.`;
      if (failed === 0) return `None of ${many(attempts, 'attempt')} to ${host} failed in the last hour.`;
      if (refused === 0)
        return `${host} refused none of ${many(attempts, 'attempt')} in the last hour; ${number(failed)} failed later, without a report of success from the worker.`;
      return `${number(refused)} of ${many(attempts, 'attempt')} to ${host} failed in the last hour.`;
    }
  }
}

const ofHour = (health: Health | null, lead: string) =>
  `${lead}${number(health?.refused ?? 0)} of ${many(health?.attempts ?? 0, 'attempt')} in the last hour failed.`;

/** "all 100 attempts failed until 14:05:37; none has succeeded since."; null if the queues fail by the hour. */
function pastOf(health: Health | null, lead: string, view: View): string | null {
  if (health === null || health.past === null) return null;
  return `${lead}${lowerFirst(textOfPhrase(pastText(health.past, health.lastFailure, view)))}`;
}

/** The successes that outweigh the failures of the hour; null without any. */
function recoveryOf(health: Health | null, who: string, view: View): string | null {
  const last = health?.lastFailure ?? null;
  if (last === null || last.succeededSince === 0) return null;
  return `Attempts to ${who} failed until ${time(Date.parse(last.at), view)}; since then ${many(last.succeededSince, 'has', 'have')} succeeded, and none has failed.`;
}

export function signOfReceiver(receiver: Receiver): { icon: IconName; signal: Signal } {
  switch (trouble(receiver)) {
    case 'fails':
      return { icon: 'failing', signal: 'bad' };
    case 'paused':
      return { icon: 'paused', signal: 'idle' };
    case 'untried':
      return { icon: 'failing', signal: 'warn' };
    case 'nothing':
      return { icon: 'pressure', signal: 'warn' };
    case 'held':
      return { icon: 'held', signal: 'hold' };
    case 'pressure':
      return { icon: 'pressure', signal: 'hold' };
    default:
      return signOfAnswers(receiver.health);
  }
}

/** A receiver is well with so few failures. */
const SHARE_REFUSED = 0.1;

/** Sign of a receiver that neither fails nor defers. */
function signOfAnswers(health: Health | null): { icon: IconName; signal: Signal } {
  if (health === null || health.attempts === 0) return { icon: 'idle', signal: 'idle' };
  const isWell = health.refused <= health.attempts * SHARE_REFUSED || (health.lastFailure?.succeededSince ?? 0) > 0;
  return isWell ? { icon: 'done', signal: 'ok' } : { icon: 'failing', signal: 'warn' };
}

/** "2 paused, 1 held"; empty for none of both. */
export function stoppedText({ pausedQueues, heldQueues }: Receiver): string {
  const counts = [pausedQueues > 0 && `${number(pausedQueues)} paused`, heldQueues > 0 && `${number(heldQueues)} held`];
  return counts.filter(Boolean).join(', ');
}

/** "8 queues, 2 paused, 1 held" */
export function queuesText(receiver: Receiver): string {
  const stopped = stoppedText(receiver);
  return `${many(receiver.queueCount, 'queue')}${stopped && `, ${stopped}`}`;
}

/** The share of attempts that failed or were deferred. */
export function notTakenText(health: Health | null): string {
  return health === null || health.attempts === 0
    ? NONE
    : percent(health.refused + health.backpressure, health.attempts);
}

const SPAN_MS = 300_000;

/** The five minutes in which something happened, as the statistics know it: "15:20 to 15:25". */
export function spanText(start: string | null, view: View): string {
  if (start === null) return 'None in 24\u00a0h';
  const at = Date.parse(start);
  return `${minute(at, view)} to ${minute(Math.min(at + SPAN_MS, view.now), view)}`;
}

/** The last 2xx answer. It is not known of queues in ack mode: their answers are counted when the worker reports. */
export function lastAccepted(
  { queueCount, ackQueues, health }: Pick<Receiver, 'queueCount' | 'ackQueues' | 'health'>,
  view: View,
): { text: string; sub: string } {
  if (ackQueues === queueCount) return { text: NONE, sub: 'not known in ack mode' };
  const sub = ackQueues === 0 ? 'within 5\u00a0min' : `of ${many(queueCount - ackQueues, 'queue')} without ack mode`;
  return { text: spanText(health?.acceptedAt ?? null, view), sub };
}

/**
 * Receivers whose queues fail first, most of them, then those that accept nothing, and those that rejected most;
 * else by name.
 */
export function worstReceivers<R extends Receiver>(receivers: readonly R[]): R[] {
  const rank = (receiver: Receiver) =>
    ({ fails: 0, nothing: 1, held: 2, untried: 2, pressure: 2, paused: 3, none: 4 })[trouble(receiver) ?? 'none'];
  const bad = ({ health }: Receiver) => (health?.refused ?? 0) + (health?.backpressure ?? 0);
  return [...receivers].sort(
    (a, b) =>
      rank(a) - rank(b) || failingOf(b.health) - failingOf(a.health) || bad(b) - bad(a) || (a.host < b.host ? -1 : 1),
  );
}

/**
 * The answer of the list: "2 of 7 receivers have failing queues, 1 accepts nothing." The rows count the same queues.
 */
export function headlineOfReceivers(receivers: readonly Receiver[], isAll: boolean): string {
  if (receivers.length === 0) return 'No receivers yet.';
  const failing = receivers.filter(({ health }) => failingOf(health) > 0).length;
  const refusing = receivers.filter((one) => trouble(one) === 'nothing').length;
  const of = isAll ? many(receivers.length, 'receiver') : `the ${number(receivers.length)} receivers on this page`;
  const fail = `${failing === 0 ? 'None' : number(failing)} of ${of} ${failing > 1 ? 'have' : 'has'} failing queues`;
  return refusing === 0 ? `${fail}.` : `${fail}, ${number(refusing)} ${refusing === 1 ? 'accepts' : 'accept'} nothing.`;
}

interface ChangingQueue {
  __typename?: string;
  id?: string;
  paused?: boolean;
  hold?: { until: string; probe: object | null } | null;
  health?: { warnings: readonly { warning: string }[] } | null;
}

/** Notes the states of live queues by which receivers are judged. Returns whether one is another than before. */
export function noteStates(known: Map<string, string>, objects: readonly ChangingQueue[]): boolean {
  const isFirst = known.size === 0;
  let isChanged = false;
  for (const { __typename, id = '', paused, hold, health } of objects) {
    if (__typename !== 'Queue') continue;
    const held = hold == null ? null : [hold.until, hold.probe !== null];
    const state = JSON.stringify([paused, held, health?.warnings.map(({ warning }) => warning)]);
    // The stream begins with all queues as they are.
    if (!isFirst && known.get(id) !== state) isChanged = true;
    known.set(id, state);
  }
  return isChanged;
}
