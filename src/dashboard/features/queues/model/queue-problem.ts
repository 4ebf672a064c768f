import { slotsInUse } from '../../../../domain/queue-slots.ts';
import { jobsPath, queuePath } from '../../../filter/links.ts';
import { listed, many, number, quote, span, time, upperFirst, type View } from '../../../words/format.ts';
import { shortId } from '../../../words/job-id.ts';
import { type Phrase, phrase, sentences, type TimePiece } from '../../../words/phrase.ts';
import type { Deed } from '../../../words/rights.ts';
import {
  allSlotsAwait,
  attemptsOf,
  awaitingText,
  breakerText,
  CONDITIONS,
  type Condition,
  dueText,
  type Flow,
  mendedText,
  openJobs,
  paceText,
  type QueueNow,
  rate,
  sinceText,
  slowText,
  spanOf,
  waitingJobs,
} from './queue-condition.ts';
import { commonCause, failureText } from './queue-failure.ts';

/** A queue that needs attention, as a row of Overview says it: what is wrong, how much, and one way out. */

export interface Problem {
  /** The condition in bold. */
  lead: Phrase;
  rest: Phrase;
}

export function problemOf(condition: Condition, queue: QueueNow, flow: Flow, view: View): Problem {
  const { health, hold, pause } = queue;
  const { all, deferred, answers } = attemptsOf(queue);
  const moment = (at: number): TimePiece => ({ at, text: time(at, view) });
  switch (condition) {
    case 'paused':
      return pause === null
        ? { lead: phrase`Paused.`, rest: phrase`${jobsWait(queue)}; nothing is lost.` }
        : {
            lead: phrase`Paused since ${moment(Date.parse(pause.since))}`,
            rest: phrase`by ${pause.by}. ${jobsWait(queue)}; nothing is lost.`,
          };
    case 'signature': {
      if (health?.past != null) return { lead: phrase`Signature rejected.`, rest: failureText(queue, view) };
      const said = phrase`${number(health?.unauthorized ?? 0)} of ${many(answers, 'answer')} of the last hour were 401.`;
      return { lead: phrase`Signature rejected.`, rest: said };
    }
    case 'breaker':
      return {
        lead: phrase`Breaker open.`,
        rest: sentences(breakerText(queue, view), phrase`${jobsWait(queue)}; no attempt is used.`),
      };
    case 'held': {
      const left = span(Date.parse(hold?.until ?? '') - view.now);
      const reason = hold?.reason == null ? null : phrase`The reason given is ${quote(hold.reason)}.`;
      return {
        lead: phrase`Held for ${left} more.`,
        rest: sentences(reason, phrase`${jobsWait(queue)}; no attempt is used.`),
      };
    }
    case 'probing':
      return {
        lead: phrase`Probing.`,
        rest: phrase`Job ${shortId(hold?.probe?.id ?? '')} finds out whether it may go on. ${jobsWait(queue)}.`,
      };
    case 'failing':
      return {
        lead: phrase`${commonCause(queue) ?? 'Failing'}.`,
        rest: sentences(failureText(queue, view), mendedText(queue, view)),
      };
    case 'awaiting':
      return {
        lead: phrase`Waiting for reports.`,
        rest: sentences(awaitingText(queue, flow, view), dueOf(queue)),
      };
    case 'stuck':
      return {
        lead: phrase`Stuck.`,
        rest: sentences(dueOf(queue), phrase`No attempt has ended ${sinceText(queue, flow, view)}.`, limitOf(queue)),
      };
    case 'behind': {
      const grows = flow.in !== null && flow.out !== null && flow.in > flow.out;
      const pace =
        grows && flow.span !== null
          ? phrase`${upperFirst(rate(flow.in ?? 0))} jobs per second came in from ${spanOf(flow.span, view)}, ${rate(flow.out ?? 0)} were finished.`
          : null;
      return {
        lead: grows ? phrase`Falling behind.` : phrase`Behind.`,
        rest: sentences(pace, dueOf(queue), limitOf(queue)),
      };
    }
    case 'catching-up':
      return {
        lead: phrase`Catching up.`,
        rest: phrase`${dueText(queue) ?? 'None is due'}; ${paceText(queue, flow, view)}.`,
      };
    case 'slow':
      return {
        lead: phrase`Slow receiver.`,
        rest: [slowText(queue)],
      };
    case 'pressure':
      return {
        lead: phrase`Backpressure.`,
        rest: phrase`The receiver deferred ${number(deferred)} of ${many(all, 'attempt')} of the last hour.`,
      };
    default: {
      const jobs = openJobs(queue);
      const rest = jobs === 0 ? phrase`Nothing waits.` : phrase`${many(jobs, 'job is', 'jobs are')} open.`;
      return { lead: phrase`Healthy again.`, rest };
    }
  }
}

/** So many queues are named. */
const NAMED = 3;

/** Queues of one receiver in the same condition: "Failing: 8 queues. mails, orders, images and 5 more." */
export function problemOfSeveral(condition: Condition, queues: readonly (QueueNow & { name: string })[]): Problem {
  const names = queues.slice(0, NAMED).map(({ name }) => name);
  const others = queues.length - names.length;
  if (others > 0) names.push(`${number(others)} more`);
  const sum = (of: (queue: QueueNow) => number) => queues.reduce((all, queue) => all + of(queue), 0);
  const isOfHour = queues.every(({ health }) => health?.past == null);
  const failed = sum(({ health }) => health?.past?.failed ?? health?.failed ?? 0);
  const attempts = many(
    sum(({ health }) => health?.past?.attempts ?? health?.attempts ?? 0),
    'attempt',
  );
  const said =
    condition === 'failing'
      ? `${number(failed)} of ${attempts}${isOfHour ? ' of the last hour' : ''} failed`
      : many(sum(waitingJobs), 'job waits', 'jobs wait');
  const [cause = null, ...otherCauses] = new Set(condition === 'failing' ? queues.map(commonCause) : []);
  const how = cause === null || otherCauses.length > 0 ? CONDITIONS[condition].word : cause;
  return {
    lead: phrase`${how}: ${number(queues.length)} queues.`,
    rest: phrase`${listed(names)}. ${said}.`,
  };
}

const jobsWait = (queue: QueueNow) => many(waitingJobs(queue), 'job waits', 'jobs wait');

function dueOf(queue: QueueNow): Phrase | null {
  const due = dueText(queue);
  return due === null ? null : phrase`${due}.`;
}

function limitOf({ concurrency, inFlight, rateWindow, depth }: QueueNow): Phrase | null {
  if (rateWindow !== null && rateWindow.used >= rateWindow.max) return phrase`The rate limit is used up.`;
  if ((inFlight ?? 0) < concurrency) return null;
  return phrase`${slotsInUse({ inFlight: inFlight ?? 0, awaitingAck: depth?.awaitingAck ?? 0, concurrency })}.`;
}

/** The one button of the row: a place to go to, perhaps for a deed, or the deed that ends the condition. */
export type WayOut = { label: string; path: string; deed?: Deed } | { label: string; deed: 'resumeQueue' };

export function wayOutOf(condition: Condition, queue: QueueNow & { name: string }): WayOut {
  const { name, hold } = queue;
  const page = queuePath(name);
  const jobs = (...states: ('due' | 'held' | 'retrying' | 'dead' | 'awaiting-ack')[]) =>
    jobsPath([
      { word: 'state', value: states },
      { word: 'queue', value: [name] },
    ]);
  const awaited = { label: 'See what is awaited', path: jobs('awaiting-ack') };
  switch (condition) {
    case 'paused':
      return { label: 'Resume', deed: 'resumeQueue' };
    case 'signature':
      return { label: 'What to check', path: page };
    case 'held':
      return hold?.askedBy == null
        ? { label: 'See what waits', path: jobs('held', 'due') }
        : { label: 'See the job', path: `/jobs/${hold.askedBy.id}` };
    case 'probing':
      return hold?.probe == null
        ? { label: 'See the queue', path: page }
        : { label: 'See the probe', path: `/jobs/${hold.probe.id}` };
    case 'failing':
      return { label: 'See failures', path: jobs('retrying', 'dead') };
    case 'awaiting':
      return awaited;
    case 'stuck':
      return { label: 'See the workers', path: '/system' };
    case 'behind':
    case 'slow':
      if (allSlotsAwait(queue)) return awaited;
      return { label: 'Edit limits', path: `${page}/edit`, deed: 'updateQueue' };
    case 'catching-up':
      return { label: 'See due jobs', path: jobs('due') };
    case 'pressure':
      return { label: 'See held jobs', path: jobs('held') };
    default:
      return { label: 'See the queue', path: page };
  }
}
