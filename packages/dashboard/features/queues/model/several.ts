import { isUnbounded, type NumberSetting, QUEUE_SETTINGS } from '../../../../../src/domain/queue-settings.ts';
import { count, listed, many, number } from '../../../../query/words/format.ts';
import type { IconName } from '../../../../query/words/words.ts';

/** The words of actions with several queues. */

export type QueuesAction = 'pause' | 'resume' | 'limit';

/** The queues of an action. */
export type Choice = { ids: string[] } | { receiver: string };

interface Words {
  icon: IconName;
  button: string;
  /** "Pause 12 queues?" */
  verb: string;
  lead: string;
  /** Queues that the action changes, and those that it leaves as they are. */
  figures: readonly [changed: string, others: string];
  done: string;
  undone: string;
}

export const SEVERAL: Readonly<Record<QueuesAction, Words>> = {
  pause: {
    icon: 'pause',
    button: 'Pause…',
    verb: 'Pause',
    lead: 'Jobs can still be published, and nothing is lost. Running deliveries continue.',
    figures: ['to be paused', 'already paused'],
    done: 'paused',
    undone: 'resumed',
  },
  resume: {
    icon: 'play',
    button: 'Resume…',
    verb: 'Resume',
    lead: 'Their jobs go out as soon as limits, holds and breakers allow, and get their full lifetime again.',
    figures: ['to be resumed', 'not paused'],
    done: 'resumed',
    undone: 'paused again',
  },
  limit: {
    icon: 'edit',
    button: 'Limit…',
    verb: 'Limit',
    lead: 'An empty field keeps the value of each queue. The limits apply immediately.',
    figures: ['to be changed', 'have these limits'],
    done: 'limited',
    undone: 'back at the former limits',
  },
};

export const QUEUES_ACTIONS = Object.keys(SEVERAL) as QueuesAction[];

interface Done {
  changed: number;
  queues: readonly { outcome: string }[];
}

/** The price: changed queues, others, and jobs that wait in those that are changed. */
export function figuresOf(action: QueuesAction, done: (Done & { waiting: number; waitingExact: boolean }) | null) {
  const [changed, others] = SEVERAL[action].figures;
  const left = done === null ? '…' : number(done.queues.length - done.changed);
  return [
    [done === null ? '…' : number(done.changed), changed],
    [left, others],
    [done === null ? '…' : count(done.waiting, done.waitingExact), 'jobs waiting there'],
  ] as const;
}

/** The question; a sentence if nothing is left to do. */
export function titleOf(action: QueuesAction, done: Done | null, chosen: number): string {
  if (done?.changed === 0) return `No queue is left to ${SEVERAL[action].verb.toLowerCase()}`;
  return `${SEVERAL[action].verb} ${many(done === null ? chosen : done.changed, 'queue')}?`;
}

/** Says what the action does; left out if no queue is left for it. Other limits may still be typed. */
export function leadOf(action: QueuesAction, done: Done | null): string | undefined {
  return done?.changed === 0 && action !== 'limit' ? undefined : SEVERAL[action].lead;
}

/** The action on its button. */
export function labelOf(action: QueuesAction, done: Done | null, chosen: number): string {
  if (done?.changed === 0) return SEVERAL[action].verb;
  return `${SEVERAL[action].verb} ${many(done?.changed ?? chosen, 'queue')}`;
}

/** "12 queues paused", for the toast. */
export function outcomeText(action: QueuesAction, { changed }: Done): string {
  return `${many(changed, 'queue')} ${SEVERAL[action].done}`;
}

/** The outcome of an undo. Queues that were changed since stay as they are, and are named by their number. */
export function undoneText(action: QueuesAction, { changed, queues }: Done): string {
  const text = `${many(changed, 'queue')} ${SEVERAL[action].undone}`;
  const others = queues.length - changed;
  return others === 0 ? text : `${text}; ${number(others)} ${others === 1 ? 'was' : 'were'} changed since`;
}

/** The fields of the dialog, as people typed them. */
export interface LimitDraft {
  concurrency: string;
  rateLimitMax: string;
  rateLimitWindow: string;
}

export const NO_LIMITS: LimitDraft = { concurrency: '', rateLimitMax: '', rateLimitWindow: '' };

export interface LimitsInput {
  concurrency?: number;
  rateLimitMax?: number | null;
  rateLimitWindow?: number;
}

const LABELS: Readonly<Record<keyof LimitDraft, string>> = {
  concurrency: 'Concurrency',
  rateLimitMax: 'Rate limit',
  rateLimitWindow: 'Window',
};

interface LimitProblem {
  name: keyof LimitDraft;
  /** "Concurrency must be a whole number from 1 to 500." */
  text: string;
}

/** The limits that are typed, or what is wrong with the first one that is; null for both if nothing is typed. */
export function limitsOf(draft: LimitDraft): { limits: LimitsInput | null; problem: LimitProblem | null } {
  const limits: LimitsInput = {};
  for (const [name, typed] of Object.entries(draft) as [keyof LimitDraft, string][]) {
    const text = typed.trim();
    if (text === '') continue;
    const setting: NumberSetting = QUEUE_SETTINGS[name];
    const value = Number(text);
    const isNumber = (setting.kind === 'seconds' ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text);
    if (name === 'rateLimitMax' && text === 'none') limits.rateLimitMax = null;
    else if (isNumber && value >= setting.min && value <= setting.max) limits[name] = value;
    else return { limits: null, problem: { name, text: `${LABELS[name]} must be ${boundsText(setting)}.` } };
  }
  return { limits: Object.keys(limits).length === 0 ? null : limits, problem: null };
}

function boundsText(setting: NumberSetting): string {
  const { kind, min, max } = setting;
  if (kind === 'seconds') return `from ${min} to ${max} seconds`;
  const bounds = isUnbounded(setting) ? `of at least ${min}` : `from ${min} to ${max}`;
  return `a whole number ${bounds}${setting.default === null ? ', or none' : ''}`;
}

/** Names of queues that a dialog has room for. */
const MOST_NAMES = 6;

/** "a, b and c", or the first ones "and 12 others"; empty if there are none. */
export function namesText(names: readonly string[]): string {
  const shown = names.length > MOST_NAMES + 1 ? names.slice(0, MOST_NAMES) : names;
  const rest = names.length - shown.length;
  return listed(rest > 0 ? [...shown, `${number(rest)} others`] : shown);
}
