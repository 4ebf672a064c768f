import type { AlertKind } from './alert-rule.ts';
import { durationText } from './duration.ts';
import { allAwaitReports, REPORTS_ADVICE, slotsInUse } from './queue-slots.ts';

/** The measure of a queue for which a rule's condition holds. */
export interface QueueMeasure {
  queueName: string;
  /** In the unit of the rule's threshold. */
  value: number;
  /** The whole that the value is a part of, such as the number of attempts; null if there is none. */
  total: number | null;
  /** Jobs in flight, those of them that await a report, and how many may be in flight, for the oldest due job. */
  inFlight: number | null;
  awaitingAck: number | null;
  concurrency: number | null;
  /** The most frequent reason of the dead letters, and the status code of most of those; null without one. */
  reason: string | null;
  statusCode: number | null;
  /** Whether a job probes the receiver of an open breaker, or why none does; null for other kinds. */
  probes: keyof typeof PROBES | null;
}

const PROBES = {
  probed: 'Nothing is lost, and one job at a time probes it.',
  no_job: 'No job waits that could probe it: the breaker stays open until a job is published.',
  paused: 'The queue is paused, so no job probes it: the breaker stays open until the queue is resumed.',
} as const;

interface RuleOfCause {
  kind: AlertKind;
  threshold: number;
  windowSeconds: number;
}

/** Returns up to how many dead letters of a queue are counted. */
export function countedLetters(threshold: number): number {
  return Math.max(threshold, 100);
}

/** Returns the cause of an alert about a queue. It repeats no text that a receiver sent, so every role may read it. */
export function causeOfQueue(rule: RuleOfCause, measure: QueueMeasure): string {
  const { queueName: queue, value, total } = measure;
  const { threshold, windowSeconds } = rule;
  const recently = `of the last ${durationText(windowSeconds)}`;
  switch (rule.kind) {
    case 'oldest_due':
      return `The oldest due job of ${queue} has waited for ${durationText(value)}; the limit is ${durationText(threshold)}.${slotsOf(measure)}`;
    case 'dead_letters': {
      const jobs = value === 1 ? '1 job' : `${value >= countedLetters(threshold) ? 'At least ' : ''}${value} jobs`;
      return `${jobs} of ${queue} died in the last ${durationText(windowSeconds)}.${reasonOf(measure)}`;
    }
    case 'failure_share':
      return `${share(value)} of ${measure.total} attempts of ${queue} ${recently} failed; the limit is ${share(threshold)}. Look at its causes of dead letters, and at the log of the receiver.`;
    case 'hold':
      return `${queue} has been held for ${durationText(value)}; the limit is ${durationText(threshold)}. Its receiver deferred a job, or answered 429, 503 or 529.`;
    case 'breaker':
      return `The breaker of ${queue} has been open for ${durationText(value)}; the limit is ${durationText(threshold)}. Its receiver fails (failed answers in a row: ${total}). ${PROBES[measure.probes ?? 'probed']}`;
    case 'signature_rejected':
      return `${share(value)} of ${measure.total} answers to ${queue} ${recently} were 401. The receiver probably verifies the signature with another secret.`;
    case 'slow_receiver':
      return `${share(value)} of ${measure.total} deliveries of ${queue} ${recently} took longer than ${durationText(threshold)}.`;
    default:
      throw new Error(`a rule of the kind ${rule.kind} watches no queue`);
  }
}

export const NO_WORKER =
  'No worker has been seen for at least 30 s, so nothing is delivered. Start one, or look at its log.';

/** @param attempts of this month @param limit of the plan */
export function causeOfUsage(attempts: number, limit: number): string {
  const used = `${attempts} of the plan’s ${limit} delivery attempts of this month are used.`;
  return attempts >= limit ? `${used} Publishing and replays are refused until the next month.` : used;
}

/** @param seconds how far the statistics are behind */
export function statisticsAreBehind(seconds: number): string {
  return `the statistics are ${durationText(seconds)} behind: the workers are stopped or overloaded`;
}

function slotsOf({ inFlight, awaitingAck, concurrency }: QueueMeasure): string {
  if (inFlight === null || awaitingAck === null || concurrency === null) return '';
  const slots = { inFlight, awaitingAck, concurrency };
  if (allAwaitReports(slots)) return ` ${slotsInUse(slots)}. ${REPORTS_ADVICE}`;
  if (awaitingAck === 0 && inFlight >= concurrency)
    return ` All its slots (${concurrency}) are in use: the receiver is slow, or the queue needs more slots.`;
  return ` ${slotsInUse(slots)}.`;
}

function reasonOf({ reason, statusCode }: QueueMeasure): string {
  if (reason === null) return '';
  return ` Most frequent: ${reason.replaceAll('_', ' ')}${statusCode === null ? '' : `, HTTP ${statusCode}`}.`;
}

function share(percent: number): string {
  return `${Number(percent.toPrecision(2))} %`;
}
