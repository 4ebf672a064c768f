import type { ActionNow } from '../../../../query/schema/fragments.ts';
import { many, number, span, time, type View } from '../../../../query/words/format.ts';
import type { IconName, JobStatus, Signal } from '../../../../query/words/words.ts';
import { isCounted, matchedText } from '../../../words/matched.ts';
import { type Phrase, phrase, sentences } from '../../../words/phrase.ts';

/** A bulk action: its kind in words, how fast it goes, and the first line of its page. */

type ActionKind = ActionNow['kind'];

/** The facts about an action. */
export type ActionState = Omit<ActionNow, '__typename' | 'id' | 'selection' | 'queue'>;

interface KindWords {
  name: string;
  /** In a sentence: "the replay of orders". */
  noun: string;
  icon: IconName;
  one: string;
  others: string;
  /** A participle for its jobs: "replayed". */
  done: string;
  /** Why some are left out. */
  leftOut: string;
}

const KINDS: Readonly<Record<ActionKind, KindWords>> = {
  REPLAY_DEAD_LETTERS: {
    name: 'Replay of dead letters',
    noun: 'replay',
    icon: 'undo',
    one: 'dead letter',
    others: 'dead letters',
    done: 'replayed',
    leftOut: 'replayed or removed meanwhile',
  },
  CANCEL_JOBS: {
    name: 'Cancel jobs',
    noun: 'cancellation',
    icon: 'cancelled',
    one: 'job',
    others: 'jobs',
    done: 'cancelled',
    leftOut: 'finished or in progress',
  },
  PURGE_QUEUE: {
    name: 'Purge of queue',
    noun: 'purge',
    icon: 'deleted',
    one: 'job',
    others: 'jobs',
    done: 'cancelled',
    leftOut: 'finished or in progress',
  },
  RUN_JOBS_NOW: {
    name: 'Run jobs now',
    noun: 'run',
    icon: 'play',
    one: 'job',
    others: 'jobs',
    done: 'made due',
    leftOut: 'finished, in progress or due meanwhile',
  },
};

/** Kinds that this page does not know yet have a name, too. */
export function wordsOfKind(kind: string): KindWords {
  const name = kind.charAt(0) + kind.slice(1).toLowerCase().replaceAll('_', ' ');
  return (
    KINDS[kind as ActionKind] ?? {
      name,
      noun: 'work',
      icon: 'actions',
      one: 'job',
      others: 'jobs',
      done: 'done',
      leftOut: 'changed meanwhile',
    }
  );
}

/** Whether it goes on, or can go on. */
export const isOpen = ({ status }: Pick<ActionState, 'status'>) => status === 'RUNNING' || status === 'PAUSED';

const toGo = ({ matched, processed }: ActionState) => Math.max(0, matched - processed);

/** The jobs that are not processed. All are once the action is complete, however many there were. */
export const toGoText = (action: ActionState) =>
  action.status === 'COMPLETED' ? number(toGo(action)) : matchedText(action.matched, toGo(action));

/** The number of processed jobs at a time, in milliseconds. */
export interface Sample {
  at: number;
  processed: number;
}

/** The rate is that of so long. */
const RATE_MS = 10_000;

/** Adds a sample, and forgets what is too old: one sample older than the span is kept, as its start. */
export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const all = [...samples, sample];
  const firstOfSpan = all.findIndex(({ at }) => at > sample.at - RATE_MS);
  return all.slice(Math.max(0, firstOfSpan - 1));
}

/**
 * Items per second over the last 10 s. Until the page has seen 2 s of it, as after a reload, the average since the
 * start. Null before anything was processed.
 */
export function rateOfAction(action: ActionState, samples: readonly Sample[], now: number): number | null {
  if (action.processed === 0) return null;
  const [first, last] = [samples[0], samples.at(-1)];
  if (first !== undefined && last !== undefined && now - first.at >= 2000) {
    return Math.max(0, ((last.processed - first.processed) / (now - first.at)) * 1000);
  }
  const end = action.finishedAt === null ? now : Date.parse(action.finishedAt);
  const ms = end - Date.parse(action.createdAt);
  return ms <= 0 ? null : (action.processed / ms) * 1000;
}

/** Milliseconds until it ends, by the lower of its rate and its limit; null when that cannot be known. */
export function timeLeft(action: ActionState, rate: number | null): number | null {
  const perSecond = Math.min(rate ?? Number.POSITIVE_INFINITY, action.ratePerSecond ?? Number.POSITIVE_INFINITY);
  // The server counts no further, so there may be more.
  if (perSecond === 0 || perSecond === Number.POSITIVE_INFINITY || !isCounted(action.matched)) return null;
  return (toGo(action) / perSecond) * 1000;
}

/** The jobs that are sent after the canary. */
const restText = ({ matched }: ActionState) => matchedText(matched, matched - 1);

/** Whether the rest waits until the job that was sent ahead has ended. */
function waitsForCanary(action: ActionState): boolean {
  return action.status === 'RUNNING' && action.canary && action.processed <= 1 && action.matched > 1;
}

/** Jobs of an action that wait until a queue is resumed. */
export interface PausedJobs {
  count: number;
  /** False if there are more, which the server does not count. */
  isExact: boolean;
  /** The queue of one of them. */
  queue: { id: string; name: string };
}

/** The first line of the page of an action. */
export function sentenceOfAction(
  action: ActionState,
  { paused = null, ...known }: { rate: number | null; stoppedBy: string | null; paused?: PausedJobs | null },
): string {
  const text = progressOfAction(action, known);
  if (paused === null) return text;
  const pause = `queue ${paused.queue.name} is paused`;
  if (!waitsForCanary(action))
    return `${text} ${paused.isExact ? '' : 'More than '}${many(paused.count, 'of its jobs waits', 'of its jobs wait')}: ${pause}.`;
  return `Waiting: ${pause}. The canary is delivered when the queue is resumed, and the rest (${restText(action)}) follows when it completes.`;
}

function progressOfAction(
  action: ActionState,
  { rate, stoppedBy }: { rate: number | null; stoppedBy: string | null },
): string {
  const { one, others, done } = wordsOfKind(action.kind);
  const things = action.matched === 1 ? one : others;
  const verb = action.matched === 1 ? 'is' : 'are';
  switch (action.status) {
    case 'RUNNING': {
      const repeats = action.repeatedStep === null ? '' : ` Waiting: ${action.repeatedStep}.`;
      if (waitsForCanary(action)) {
        const rest = `${restText(action)} ${action.matched === 2 ? one : others}`;
        return action.canaryJobId === null
          ? `The canary is about to be sent. The rest (${rest}) follows when it completes.${repeats}`
          : `The canary was sent. The rest (${rest}) follows when it completes.`;
      }
      const left = timeLeft(action, rate);
      const progress = `${number(action.succeeded)} of ${matchedText(action.matched)} ${things} ${verb} ${done}.${repeats}`;
      return left === null || repeats !== '' ? progress : `${progress} About ${span(left)} to go.`;
    }
    case 'PAUSED':
      return `Paused${action.pausedBy === null ? '' : ` by ${action.pausedBy}`} after ${number(action.processed)} of ${matchedText(action.matched)} ${things}.`;
    case 'COMPLETED': {
      const count =
        action.succeeded === 0 ? `no ${one} was` : `${many(action.succeeded, `${one} was`, `${others} were`)}`;
      return `Done: ${count} ${done}${action.skipped === 0 ? '' : `, ${number(action.skipped)} skipped`}.`;
    }
    case 'CANCELLED':
      return `Stopped${stoppedBy === null ? '' : ` by ${stoppedBy}`} after ${number(action.processed)} of ${matchedText(action.matched)} ${things}.`;
    case 'FAILED':
      return `Failed: ${withStop(causeOfFailure(action.error))}`;
  }
}

/** `the canary job … died (attempts_exhausted): HTTP 413` in words: the page shows the job itself. */
function causeOfFailure(error: string | null): string {
  if (error === null) return 'the reason is unknown';
  const [, what, last] = error.match(/^the canary job \w+ (died|was cancelled|was removed)[^:]*(?:: (.*))?$/s) ?? [];
  if (what === undefined) return error;
  return `the canary ${what}${last === undefined ? '' : ` (${last})`}, so nothing more was sent`;
}

const withStop = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** For the tab: short, and it does not change more than it has to. */
export function titleOfAction(action: ActionState, paused: PausedJobs | null = null): string {
  if (paused !== null && waitsForCanary(action)) return 'Waiting';
  if (action.status !== 'RUNNING') {
    return { PAUSED: 'Paused', COMPLETED: 'Done', CANCELLED: 'Stopped', FAILED: 'Failed' }[action.status];
  }
  return `${action.matched === 0 ? 0 : Math.floor((action.processed / action.matched) * 100)}\u00a0% done`;
}

/** "10.0 per second, the requested limit" */
export function paceOfAction(action: ActionState, rate: number | null): string {
  if (action.status !== 'RUNNING' || rate === null || waitsForCanary(action)) return '';
  const limit = action.ratePerSecond;
  const text = `${rate < 100 ? rate.toFixed(1) : number(Math.round(rate))} per second`;
  if (limit === null) return text;
  return rate > limit * 0.9 ? `${text}, the requested limit` : `${text} of the requested ${number(limit)}`;
}

export const SIGNALS: Readonly<Record<ActionState['status'], Signal>> = {
  RUNNING: 'run',
  PAUSED: 'idle',
  COMPLETED: 'ok',
  FAILED: 'bad',
  CANCELLED: 'idle',
};

/** A step of an action, the newest first. */
interface Step {
  at: number;
  icon: IconName;
  signal: Signal;
  text: string;
  /** A job that the text ends with. */
  jobId?: string;
}

export interface CanaryJob {
  id: string;
  status: JobStatus;
  createdAt: string;
  endedAt: string | null;
}

/** The events so far, as far as the action and the job that was sent ahead tell them. */
export function stepsOf(action: ActionState, canary: CanaryJob | null, stoppedBy: string | null): Step[] {
  const words = wordsOfKind(action.kind);
  const rate = action.ratePerSecond === null ? '' : `, ${number(action.ratePerSecond)} per second`;
  const ofOne = action.canary ? ', 1 first' : '';
  const steps: Step[] = [
    {
      at: Date.parse(action.createdAt),
      icon: 'actions',
      signal: 'idle',
      text: `Started by ${action.requestedBy}: ${matchedText(action.matched)} matched${rate}${ofOne}`,
    },
  ];
  if (action.canaryJobId !== null) {
    const at = canary === null ? Date.parse(action.createdAt) : Date.parse(canary.createdAt);
    steps.push({ at, icon: 'send', signal: 'idle', text: 'The canary was sent:', jobId: action.canaryJobId });
  }
  if (canary?.status === 'COMPLETED' && canary.endedAt !== null) {
    const text = action.matched > 1 ? 'The canary completed, so the rest started' : 'It completed';
    steps.push({ at: Date.parse(canary.endedAt), icon: 'done', signal: 'ok', text });
  }
  if (action.status === 'RUNNING') {
    if (action.processed > 0 && !waitsForCanary(action)) {
      const text = `${number(action.processed)} processed, ${toGoText(action)} to go`;
      steps.push({ at: Date.parse(action.updatedAt), icon: words.icon, signal: 'run', text });
    }
  } else {
    const text = sentenceOfAction(action, { rate: null, stoppedBy }).replace(/\.$/, '');
    const icon = ({ PAUSED: 'paused', COMPLETED: 'done', CANCELLED: 'stop', FAILED: 'failed' } as const)[action.status];
    const at = Date.parse(action.finishedAt ?? action.pausedAt ?? action.updatedAt);
    steps.push({ at, icon, signal: SIGNALS[action.status], text });
  }
  return steps.reverse();
}

/** "Queue order-events, started by jf_4kQ…x7Pd at 12:04:29. It continues if you leave this page." */
export function leadOfAction(action: ActionState & { queue: { name: string } | null }, view: View): Phrase {
  const at = Date.parse(action.createdAt);
  return sentences(
    phrase`${action.queue === null ? 'Started' : `Queue ${action.queue.name}, started`} by ${action.requestedBy} at ${{ at, text: time(at, view) }}.`,
    action.status === 'RUNNING' ? 'It continues if you leave this page.' : null,
    action.status === 'PAUSED' ? `The rest (${toGoText(action)}) waits until the action is resumed.` : null,
  );
}

/** "1 204 of 1 998", or only the number when all of them are done. */
export function progressText({ processed, matched }: ActionState): string {
  return processed === matched ? number(processed) : `${number(processed)} of ${matchedText(matched)}`;
}
