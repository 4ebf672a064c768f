import { costOf, severityOf, waitingJobs } from '../../../../../src/domain/queue-condition.ts';
import { listed, many, number, percent, time, upperFirst, type View } from '../../../../query/words/format.ts';
import type { IconName, Signal } from '../../../../query/words/words.ts';
import { type Phrase, phrase, sentences } from '../../../words/phrase.ts';
import { CONDITIONS } from './condition-words.ts';
import { type Condition, compareTrouble, needsLook, type QueueNow } from './queue-condition.ts';
import { deliveries, spanOf } from './queue-texts.ts';

/** The sentences over a list of queues, and its order. */

export interface Queue extends QueueNow {
  id: string;
  name: string;
}

export interface QueueState {
  queue: Queue;
  condition: Condition;
  /** Accepted deliveries a second; null if it is not known. */
  out: number | null;
}

/** The most problems that Overview lists: as many as there are keys for. */
export const MAX_PROBLEMS = 9;

/** Queues that need a look first, worst first; then those that move, then idle ones; equal ones by name. */
export function worstFirst<State extends QueueState>(states: readonly State[]): State[] {
  const rank = ({ condition }: QueueState) => (needsLook(condition) ? 0 : condition === 'idle' ? 2 : 1);
  // The oldest due job of a queue that is well changes from second to second.
  const trouble = (a: State, b: State) => (needsLook(a.condition) ? compareTrouble(a, b) : 0);
  return [...states].sort((a, b) => rank(a) - rank(b) || trouble(a, b) || (a.queue.name < b.queue.name ? -1 : 1));
}

/** The favourites of the person before all others, each part in its order. */
export function favouritesFirst<State extends QueueState>(
  states: readonly State[],
  favourites: readonly string[],
): State[] {
  const [first, rest] = [new Set(favourites), [] as State[]];
  const found = states.filter((state) => first.has(state.queue.name) || !rest.push(state));
  return [...found, ...rest];
}

export function problemsOf<State extends QueueState>(states: readonly State[]): State[] {
  return states.filter(({ condition }) => needsLook(condition));
}

/** An entry of Overview: a queue, or the queues of one receiver that are in the same condition. */
export interface Trouble<State> {
  /** The id of a queue, which stays while the others change places. */
  id: string;
  host: string;
  /** The worst first. */
  states: State[];
}

/** The queues in the given order; those of one receiver in one condition together, by what they cost together. */
export function troublesOf<State extends QueueState & { queue: { webhookUrl: string } }>(
  states: readonly State[],
): Trouble<State>[] {
  const troubles = new Map<string, Trouble<State>>();
  for (const state of states) {
    const { id, webhookUrl } = state.queue;
    const { host } = new URL(webhookUrl);
    const key = `${host} ${state.condition}`;
    const trouble = troubles.get(key);
    trouble?.states.push(state);
    if (trouble === undefined) troubles.set(key, { id, host, states: [state] });
    else if (id < trouble.id) trouble.id = id;
  }
  const severity = ({ states: [first] }: Trouble<State>) => (first === undefined ? 0 : severityOf(first.condition));
  const cost = (trouble: Trouble<State>) => trouble.states.reduce((sum, { queue }) => sum + costOf(queue), 0);
  return [...troubles.values()].sort((a, b) => severity(b) - severity(a) || cost(b) - cost(a));
}

export interface Summary {
  /** Queues that the sentence is about. */
  shown: number;
  /** All queues of the account: more than `shown` if the list has several pages. */
  total: number;
  problems: number;
  /** Deliveries a second of all shown queues. */
  out: number;
  /** Whether a queue moves, or has jobs for a later time. */
  moves: boolean;
  worst: Condition | null;
}

export function summaryOf(states: readonly QueueState[], total: number): Summary {
  const sorted = problemsOf(worstFirst(states));
  return {
    shown: states.length,
    total,
    problems: sorted.length,
    worst: sorted[0]?.condition ?? null,
    out: states.reduce((sum, { out }) => sum + (out ?? 0), 0),
    moves: states.some(({ condition }) => !needsLook(condition) && condition !== 'idle'),
  };
}

/** The h1: the answer in `strong`, what follows from it in `soft`. */
interface Headline {
  strong: Phrase;
  soft: Phrase | null;
}

export function headlineOf(
  { shown, total, problems, moves }: Summary,
  lastDeliveryAt: string | null | undefined,
  view: View,
  hasWorker = true,
): Headline {
  // The server lists those that need a look first, of all queues.
  if (problems > 0) {
    if (problems === shown && total > shown) {
      return { strong: phrase`At least ${number(problems)} of ${number(total)} queues need attention.`, soft: null };
    }
    const well = total - problems;
    const strong =
      well === 0
        ? phrase`${total === 1 ? 'The queue needs' : `All ${number(total)} queues need`} attention.`
        : phrase`${number(problems)} of ${many(total, 'queue')} ${problems === 1 ? 'needs' : 'need'} attention.`;
    const soft = well === 0 ? null : phrase`The other ${well === 1 ? 'one is' : `${number(well)} are`} healthy.`;
    return { strong, soft };
  }
  if (!hasWorker) return { strong: phrase`Nothing is delivered: no worker is running.`, soft: null };
  const all = allQueues(total);
  if (moves) return { strong: phrase`${all} healthy.`, soft: null };
  if (lastDeliveryAt === undefined) return { strong: phrase`All is quiet.`, soft: null };
  if (lastDeliveryAt === null) {
    return { strong: phrase`All is quiet.`, soft: phrase`No attempts are on record.` };
  }
  const at = Date.parse(lastDeliveryAt);
  return {
    strong: phrase`All is quiet.`,
    soft: phrase`The last attempt ended at ${{ at, text: time(at, view) }}.`,
  };
}

const allQueues = (count: number) => (count === 1 ? 'The queue is' : `All ${number(count)} queues are`);

export function signOf({ worst, moves }: Summary, hasWorker = true): { icon: IconName; signal: Signal } {
  if (worst !== null) return { icon: 'failing', signal: CONDITIONS[worst].signal };
  if (!hasWorker) return { icon: 'failing', signal: 'bad' };
  return moves ? { icon: 'done', signal: 'ok' } : { icon: 'idle', signal: 'idle' };
}

/** One or two sentences below: how much is delivered, how much of it fails, what waits and where. */
export function leadOfOverview(
  states: readonly QueueState[],
  recent: { all: number; failed: number; putOff: number; span: { from: number; to: number } | null },
  { shown, total, out }: Summary,
  view: View,
): Phrase {
  const pace =
    recent.all === 0 || recent.span === null
      ? null
      : phrase`${upperFirst(deliveries(out))} per second from ${spanOf(recent.span, view)}: ${attempts(recent.failed, recent.all)} failed${putOffText(recent)}.`;
  const lead = sentences(pace, waitingOf(states));
  return total > shown ? sentences(phrase`Of the ${many(shown, 'queue')} below:`, lead) : lead;
}

const attempts = (some: number, all: number) =>
  some === 0 ? 'no attempts' : some === all ? 'all attempts' : `${percent(some, all)} of attempts`;

/** Probes that failed put their jobs off, too, so that "none failed" alone would be false while a receiver is down. */
const putOffText = ({ putOff, all }: { putOff: number; all: number }) =>
  putOff === 0 ? '' : `, ${putOff === all ? 'all' : percent(putOff, all)} were deferred`;

function waitingOf(states: readonly QueueState[]): Phrase | null {
  const waiting = states
    .map(({ queue }) => ({ name: queue.name, jobs: waitingJobs(queue) }))
    .sort((a, b) => b.jobs - a.jobs);
  const all = waiting.reduce((sum, { jobs }) => sum + jobs, 0);
  const [first] = waiting;
  if (all === 0 || first === undefined) return phrase`No job is waiting.`;
  const where =
    first.jobs === all
      ? `in ${first.name}`
      : first.jobs >= all * 0.9
        ? `nearly all of them in ${first.name}`
        : first.jobs > all / 2
          ? `most of them in ${first.name}`
          : null;
  const jobs = many(all, 'job is waiting', 'jobs are waiting');
  if (where === null || states.length === 1) return phrase`${jobs}.`;
  return first.jobs === all ? phrase`${jobs} ${where}.` : phrase`${jobs}, ${where}.`;
}

/** The h1 of the list of queues: how many there are, and how they are. */
export function headlineOfList(states: readonly QueueState[], total: number, search: string): string {
  if (states.length === 0) return search === '' ? 'No queues yet.' : 'No queue matches.';
  const isPart = total > states.length;
  const matched = search === '' ? many(total, 'queue') : `${many(total, 'queue')} ${total === 1 ? 'matches' : 'match'}`;
  const problems = problemsOf(states).length;
  const moving = states.filter(({ condition }) => condition === 'moving').length;
  const waiting = states.filter(({ condition }) => condition === 'waiting').length;
  const idle = states.length - problems - moving - waiting;
  const parts = [
    [problems, problems === 1 ? 'needs attention' : 'need attention'],
    [moving, moving === 1 ? 'is running' : 'are running'],
    [waiting, waiting === 1 ? 'waits for a later time' : 'wait for a later time'],
    [idle, idle === 1 ? 'is idle' : 'are idle'],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, text]) => `${number(count)}\u00a0${text}`);
  const list = listed(said);
  return isPart ? `${matched}. Of the ${number(states.length)} on this page ${list}.` : `${matched}: ${list}.`;
}
