import { many, minute, NONE, number, percent, type View } from '../../../words/format.ts';
import type { IconName, Signal } from '../../../words/words.ts';

/** Sentences about a receiver: a host with its queues. */

interface Health {
  attempts: number;
  failed: number;
  failingQueues: number;
  acceptedAt: string | null;
}

export interface Receiver {
  host: string;
  queueCount: number;
  pausedQueues: number;
  heldQueues: number;
  health: Health | null;
}

/** The states of queues, worst first. */
function trouble({ queueCount, pausedQueues, heldQueues, health }: Receiver): 'fails' | 'paused' | 'held' | null {
  if ((health?.failingQueues ?? 0) > 0) return 'fails';
  if (pausedQueues === queueCount) return 'paused';
  return heldQueues > 0 ? 'held' : null;
}

const queuesOf = (part: number, all: number) =>
  part === all ? (all === 1 ? 'The queue' : `All ${number(all)} queues`) : `${number(part)} of ${many(all, 'queue')}`;

/** The answer of the page: does the receiver take what is sent? */
export function sentenceOfReceiver(receiver: Receiver): string {
  const { host, queueCount, pausedQueues, heldQueues, health } = receiver;
  const attempts = health?.attempts ?? 0;
  switch (trouble(receiver)) {
    case 'fails': {
      const failing = health?.failingQueues ?? 0;
      return `${queuesOf(failing, queueCount)} to ${host} ${failing === 1 ? 'fails' : 'fail'}: ${number(health?.failed ?? 0)} of ${number(attempts)} attempts of the last hour failed.`;
    }
    case 'paused':
      return `${queuesOf(pausedQueues, queueCount)} to ${host} ${queueCount === 1 ? 'is' : 'are'} paused.`;
    case 'held':
      return `${queuesOf(heldQueues, queueCount)} to ${host} ${heldQueues === 1 ? 'is' : 'are'} held.`;
    default: {
      if (attempts === 0) return `No attempt to ${host} ended in the last hour.`;
      const failed = health?.failed ?? 0;
      if (failed === 0) return `None of ${many(attempts, 'attempt')} to ${host} failed in the last hour.`;
      return `${number(failed)} of ${many(attempts, 'attempt')} to ${host} failed in the last hour.`;
    }
  }
}

export function signOfReceiver(receiver: Receiver): { icon: IconName; signal: Signal } {
  switch (trouble(receiver)) {
    case 'fails':
      return { icon: 'failing', signal: 'bad' };
    case 'paused':
      return { icon: 'paused', signal: 'idle' };
    case 'held':
      return { icon: 'held', signal: 'hold' };
    default:
      return (receiver.health?.attempts ?? 0) > 0 ? { icon: 'done', signal: 'ok' } : { icon: 'idle', signal: 'idle' };
  }
}

/** "8 queues, 2 paused, 1 held" */
export function queuesText({ queueCount, pausedQueues, heldQueues }: Receiver): string {
  const paused = pausedQueues > 0 ? `, ${number(pausedQueues)} paused` : '';
  const held = heldQueues > 0 ? `, ${number(heldQueues)} held` : '';
  return `${many(queueCount, 'queue')}${paused}${held}`;
}

export function failedText(health: Health | null): string {
  return health === null || health.attempts === 0 ? NONE : percent(health.failed, health.attempts);
}

const SPAN_MS = 300_000;

/** The five minutes in which something happened, as the statistics know it: "15:20 to 15:25". */
export function spanText(start: string | null, view: View): string {
  if (start === null) return 'None in a day';
  const at = Date.parse(start);
  return `${minute(at, view)} to ${minute(Math.min(at + SPAN_MS, view.now), view)}`;
}

/** Receivers whose queues fail first, then those with most failures; else by name. */
export function worstReceivers<R extends Receiver>(receivers: readonly R[]): R[] {
  const rank = (receiver: Receiver) => ({ fails: 0, held: 1, paused: 2, none: 3 })[trouble(receiver) ?? 'none'];
  const failed = ({ health }: Receiver) => health?.failed ?? 0;
  return [...receivers].sort((a, b) => rank(a) - rank(b) || failed(b) - failed(a) || (a.host < b.host ? -1 : 1));
}

/** The answer of the list. */
export function headlineOfReceivers(receivers: readonly Receiver[], isAll: boolean): string {
  if (receivers.length === 0) return 'No queue delivers anywhere yet.';
  const failing = receivers.filter((receiver) => trouble(receiver) === 'fails').length;
  const of = isAll ? many(receivers.length, 'receiver') : `the ${number(receivers.length)} receivers on this page`;
  return failing === 0 ? `None of ${of} fails.` : `${number(failing)} of ${of} ${failing === 1 ? 'fails' : 'fail'}.`;
}
