import { waitingJobs } from '../../../../../src/domain/queue-condition.ts';
import { queuesPath } from '../../../../query/filter/links.ts';
import { receiverWord } from '../../../../query/filter/queue-search.ts';
import { listed, many, number, type View } from '../../../../query/words/format.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';
import { CONDITIONS, type WayOut } from './condition-words.ts';
import type { Condition, Flow, QueueNow } from './queue-condition.ts';
import { causeOfLast, commonCause } from './queue-failure.ts';
import { sentenceOfQueue } from './queue-sentence.ts';
import { momentOf } from './queue-texts.ts';

/** A queue that needs attention, as a row of Overview says it: what is wrong, how much, and one way out. */

interface Problem {
  /** The condition in bold. */
  lead: Phrase;
  rest: Phrase;
}

/**
 * The first line of the queue's page, cut after its condition: "The receiver answered 500: | all 100 attempts of the
 * last hour failed."
 */
export function problemOf(queue: QueueNow, flow: Flow, view: View): Problem {
  const pieces = sentenceOfQueue(queue, flow, view);
  const endIn = (piece: Phrase[number] | undefined) => (typeof piece === 'string' ? piece.search(/[:.] /) : -1);
  const at = pieces.findIndex((piece) => endIn(piece) >= 0);
  const last = pieces[at];
  if (typeof last !== 'string') return { lead: pieces, rest: [] };
  const end = endIn(last) + 1;
  return { lead: [...pieces.slice(0, at), last.slice(0, end)], rest: [last.slice(end + 1), ...pieces.slice(at + 1)] };
}

/** So many queues are named. */
const NAMED = 3;

/** Queues of one receiver in the same condition: "Failing: 8 queues. mails, orders, images and 5 more." */
export function problemOfSeveral(
  condition: Condition,
  queues: readonly (QueueNow & { name: string })[],
  view: View,
): Problem {
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
  const [cause = null, ...otherCauses] = new Set(condition === 'failing' ? queues.map(commonCause) : []);
  const common = otherCauses.length > 0 ? null : cause;
  const [last = '', ...otherLasts] = new Set(queues.map((queue) => causeOfLast(queue, common)));
  const lastText = last === '' || otherLasts.length > 0 ? '' : `, the last one of each queue${last}`;
  const said =
    condition === 'failing'
      ? `${number(failed)} of ${attempts}${isOfHour ? ' of the last hour' : ''} failed${lastText}`
      : many(sum(waitingJobs), 'job waits', 'jobs wait');
  const how = common ?? CONDITIONS[condition].word;
  return {
    lead: phrase`${how}: ${number(queues.length)} queues.`,
    rest: phrase`${listed(names)}${condition === 'paused' ? pausesText(queues, view) : ''}. ${said}.`,
  };
}

/** ", since 11:20:00 by ann", or ", the first since 11:20:00, by ann and bob" */
function pausesText(queues: readonly QueueNow[], view: View): Phrase {
  const pauses = queues.flatMap(({ pause }) => pause ?? []);
  const [first = null, ...later] = [...new Set(pauses.map(({ since }) => since))].sort();
  if (first === null) return [];
  const [which, comma] = later.length === 0 ? ['', ''] : ['the first ', ','];
  return phrase`, ${which}since ${momentOf(Date.parse(first), view)}${comma} by ${listed([...new Set(pauses.map(({ by }) => by))])}`;
}

/** The queues of an entry alone: their receiver may have others. */
export const wayOutOfSeveral = (condition: Condition, host: string): WayOut => ({
  label: 'See the queues',
  path: queuesPath(`${receiverWord(host)} is:${condition}`),
});
