import { BEHIND_MS } from '../../../../../src/domain/queue-condition.ts';
import { jobsPath, queuePath } from '../../../../query/filter/links.ts';
import { lowerFirst, many, number, quote, span, took, type View } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import type { Mutation } from '../../../../query/words/rights.ts';
import type { Word } from '../../../../query/words/words.ts';
import type { NewAlert } from '../../../words/new-alert.ts';
import { type Phrase, phrase, sentences, textOfPhrase } from '../../../words/phrase.ts';
import { allSlotsAwait, attemptsOf, type Condition, type Flow, openJobs, type QueueNow } from './queue-condition.ts';
import { failureSentence, failureText } from './queue-failure.ts';
import {
  allFailed,
  awaitingText,
  breakerText,
  deliveries,
  dueText,
  jobsWait,
  momentOf,
  oldestText,
  openText,
  paceText,
  rate,
  sinceText,
  slowText,
  spanOf,
  waitingText,
} from './queue-texts.ts';

/** Everything that the dashboard says of the condition of a queue, and what it offers. */

interface ConditionWords extends Word {
  /** The first line of the queue's page, and the row of Overview up to its first colon or full stop. */
  sentence(queue: QueueNow, flow: Flow, view: View): Phrase;
  /** The line below; without it, what limits the queue. */
  advice?: Phrase;
  /** The one button of the row; without it, a link to the queue. */
  wayOut?(queue: NamedQueue): WayOut;
  /** The rule that tells of the condition when it comes again; none for one that a person has chosen. */
  alert?: readonly [NewAlert['kind'], threshold: (queue: Pick<QueueNow, 'health'>) => number | null];
}

type NamedQueue = QueueNow & { name: string };

/** A place to go to, perhaps for a mutation, or the mutation that ends the condition. */
export type WayOut = { label: string; path: string; mutation?: Mutation } | { label: string; mutation: 'resumeQueue' };

type State = 'due' | 'held' | 'retrying' | 'dead' | 'awaiting-ack';

const seeJobs =
  (label: string, ...states: State[]) =>
  ({ name }: NamedQueue): WayOut => ({
    label,
    path: jobsPath([
      { word: 'state', value: states },
      { word: 'queue', value: [name] },
    ]),
  });

const seeAwaited = seeJobs('See these jobs', 'awaiting-ack');

const editLimits = (queue: NamedQueue): WayOut =>
  allSlotsAwait(queue)
    ? seeAwaited(queue)
    : { label: 'Edit limits', path: `${queuePath(queue.name)}/edit`, mutation: 'updateQueue' };

const momentAt = (at: string | undefined, view: View) => momentOf(Date.parse(at ?? ''), view);

/** A queue that is behind, or held, for so many seconds is worth a message. */
const MINUTE = () => BEHIND_MS / 1000;

export const CONDITIONS: Readonly<Record<Condition, ConditionWords>> = {
  deleted: {
    word: 'Deleted',
    icon: 'deleted',
    signal: 'idle',
    sentence: ({ deletedAt, keptUntil }, _flow, view) =>
      sentences(
        phrase`Deleted at ${momentAt(deletedAt ?? '', view)}.`,
        keptUntil == null ? null : phrase`Its jobs are kept until ${momentAt(keptUntil, view)}.`,
      ),
  },
  paused: {
    word: 'Paused',
    icon: 'paused',
    signal: 'idle',
    sentence: (queue, _flow, view) => {
      const { pause } = queue;
      const since = pause === null ? '' : phrase` since ${momentAt(pause.since, view)} by ${pause.by}`;
      return phrase`Paused${since}. ${jobsWait(queue)}, nothing is lost.`;
    },
    advice: phrase`Jobs can be published as usual. None is delivered until the queue is resumed.`,
    wayOut: () => ({ label: 'Resume', mutation: 'resumeQueue' }),
  },
  signature: {
    word: 'Signature rejected',
    icon: 'key',
    signal: 'bad',
    sentence: (queue, _flow, view) => {
      const { health } = queue;
      const how =
        health?.past != null
          ? lowerFirst(textOfPhrase(failureText(queue, view)))
          : `${number(health?.unauthorized ?? 0)} of ${many(attemptsOf(queue).answers, 'answer')} of the last hour were 401.`;
      return phrase`The receiver rejects the signature: ${how}`;
    },
    wayOut: ({ name }) => ({ label: 'What to check', path: queuePath(name) }),
    alert: ['SIGNATURE_REJECTED', () => 5],
  },
  breaker: {
    word: 'Breaker open',
    icon: 'failing',
    signal: 'bad',
    sentence: (queue, _flow, view) => phrase`The receiver is down. ${breakerText(queue, view)} ${jobsWait(queue)}.`,
    alert: ['BREAKER', MINUTE],
  },
  held: {
    word: 'Held',
    icon: 'held',
    signal: 'hold',
    sentence: (queue, _flow, view) => {
      const { until = '', reason = null } = queue.hold ?? {};
      const why = reason === null ? '' : `: ${quote(reason)}`;
      return phrase`Held for ${span(Date.parse(until) - view.now)} more, until ${momentAt(until, view)}${why}. ${jobsWait(queue)}.`;
    },
    advice: phrase`Then one job is delivered as a probe. If the receiver takes it, the others follow; no attempt is used.`,
    wayOut: (queue) =>
      queue.hold?.askedBy == null
        ? seeJobs('See waiting jobs', 'held', 'due')(queue)
        : { label: 'See the job', path: `/jobs/${queue.hold.askedBy.id}` },
    alert: ['HOLD', MINUTE],
  },
  probing: {
    word: 'Probing',
    icon: 'probe',
    signal: 'hold',
    sentence: ({ hold }) =>
      phrase`Probing: job ${shortId(hold?.probe?.id ?? '')} tests whether the receiver accepts deliveries again.`,
    advice: phrase`If the receiver takes it, the other jobs follow. If not, the queue is held again.`,
    wayOut: ({ name, hold }) =>
      hold?.probe == null ? seeQueue(name) : { label: 'See the probe', path: `/jobs/${hold.probe.id}` },
    alert: ['HOLD', MINUTE],
  },
  failing: {
    word: 'Failing',
    icon: 'failing',
    signal: 'bad',
    sentence: (queue, _flow, view) => failureSentence(queue, view),
    wayOut: seeJobs('See failures', 'retrying', 'dead'),
    alert: ['FAILURE_SHARE', () => 50],
  },
  awaiting: {
    word: 'Waiting for reports',
    icon: 'ack',
    signal: 'warn',
    sentence: (queue, flow, view) => phrase`Waiting for reports: ${awaitingText(queue, flow, view)}`,
    wayOut: seeAwaited,
    alert: ['OLDEST_DUE', MINUTE],
  },
  stuck: {
    word: 'Stuck',
    icon: 'stop',
    signal: 'warn',
    sentence: (queue, flow, view) =>
      phrase`Stuck: ${many(queue.depth?.due ?? 0, 'job is', 'jobs are')} due, ${oldestText(queue)}, and no attempt has ended ${sinceText(queue, flow, view)}.`,
    wayOut: () => ({ label: 'See the workers', path: '/system' }),
    alert: ['OLDEST_DUE', MINUTE],
  },
  behind: {
    word: 'Behind',
    icon: 'growing',
    signal: 'warn',
    sentence: (queue, flow, view) =>
      flow.in === null || flow.out === null || flow.span === null || flow.in <= flow.out
        ? phrase`Behind: ${dueText(queue) ?? oldestText(queue)}.`
        : phrase`Falling behind: ${rate(flow.in)} jobs per second came in during the last minute, and ${rate(flow.out)} were finished from ${spanOf(flow.span, view)}.`,
    wayOut: editLimits,
    alert: ['OLDEST_DUE', MINUTE],
  },
  'catching-up': {
    word: 'Catching up',
    icon: 'growing',
    signal: 'warn',
    sentence: (queue, flow, view) =>
      phrase`Catching up: ${many(queue.depth?.due ?? 0, 'job is', 'jobs are')} due; ${paceText(queue, flow, view)}.`,
    wayOut: seeJobs('See due jobs', 'due'),
    alert: ['OLDEST_DUE', MINUTE],
  },
  slow: {
    word: 'Slow receiver',
    icon: 'slow',
    signal: 'warn',
    sentence: (queue) => [slowText(queue)],
    wayOut: editLimits,
    alert: ['SLOW_RECEIVER', slowSeconds],
  },
  pressure: {
    word: 'Backpressure',
    icon: 'pressure',
    signal: 'hold',
    sentence: (queue) => {
      const { all, deferred } = attemptsOf(queue);
      return phrase`${number(deferred)} of ${many(all, 'attempt')} of the last hour were deferred by the receiver.`;
    },
    wayOut: seeJobs('See held jobs', 'held'),
    alert: ['HOLD', MINUTE],
  },
  moving: { word: 'Running', icon: 'moving', signal: 'ok', sentence: runningText },
  waiting: {
    word: 'Waiting',
    icon: 'scheduled',
    signal: 'idle',
    sentence: (queue, _flow, view) => waitingText(queue, view),
  },
  idle: {
    word: 'Idle',
    icon: 'idle',
    signal: 'idle',
    sentence: (queue, { lastAt }, view) =>
      lastAt === null
        ? phrase`Idle. No job is waiting.`
        : sentences(phrase`Idle. The last attempt ended at ${momentAt(lastAt, view)}.`, allFailed(queue)),
  },
};

function runningText(queue: QueueNow, { accepted, span: of, wait, lastAt }: Flow, view: View): Phrase {
  if (accepted !== null && accepted > 0 && of !== null) {
    const late = wait === null ? '' : `, starting ${took(wait)} late`;
    return phrase`Running: ${deliveries(accepted)} per second from ${spanOf(of, view)}${late}.`;
  }
  if (openJobs(queue) > 0) return phrase`Running: ${openText(queue)}.`;
  if (lastAt === null) return phrase`Running: no job is waiting.`;
  return sentences(
    phrase`Running: no job is waiting, the last attempt ended at ${momentAt(lastAt, view)}.`,
    allFailed(queue),
  );
}

/** A little below what is slow now. */
function slowSeconds({ health }: Pick<QueueNow, 'health'>): number | null {
  const p95 = health?.duration.p95 ?? null;
  return p95 === null ? null : Math.min(Math.max(Math.floor(p95 / 1000), 1), 600);
}

const seeQueue = (name: string): WayOut => ({ label: 'See the queue', path: queuePath(name) });

export const wayOutOf = (condition: Condition, queue: NamedQueue): WayOut =>
  CONDITIONS[condition].wayOut?.(queue) ?? seeQueue(queue.name);

/**
 * Returns the rule that tells of this condition when it comes again;
 * null for a condition that a person has chosen, or that is none.
 */
export function alertOfCondition(
  condition: Condition,
  queue: Pick<QueueNow, 'health'> & { id: string; name: string },
): NewAlert | null {
  const { alert } = CONDITIONS[condition];
  if (alert === undefined) return null;
  const [kind, threshold] = alert;
  return { kind, queue: { id: queue.id, name: queue.name }, threshold: threshold(queue) };
}
