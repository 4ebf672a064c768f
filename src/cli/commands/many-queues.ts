import { type Result, UsageError } from './command.ts';

/** Commands about a queue, about several, or about all of a receiver. */

export const QUEUES_ARGUMENT = {
  name: 'QUEUE',
  what: 'the id or the name of the queue, or of several with commas between',
  optional: true,
} as const;

export const RECEIVER_OPTION = {
  value: 'HOST',
  help: 'all queues that deliver to this host, such as api.partner.com or api.partner.com:8443, in place of one',
} as const;

/** Returns the ids and names of the argument; none with `--receiver`. @throws UsageError */
export function queuesOf(argument: string, receiver: string | undefined): string[] {
  const texts = argument
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  if (texts.length === 0 && receiver === undefined)
    throw new UsageError('the id or the name of the queue is missing, or --receiver');
  if (texts.length > 0 && receiver !== undefined) throw new UsageError('give a queue or --receiver, not both');
  return texts;
}

/** The effect of each action on a queue, and the reason if it has none, after the name of the queue. */
const EFFECTS = {
  pause: ['is paused. Running deliveries continue.', 'is already paused.'],
  resume: ['is resumed.', 'is not paused.'],
  endHold: ['is no longer held, or its next probe is due now.', 'is not held, or its next probe was already due.'],
} as const;
export type QueueAction = keyof typeof EFFECTS;

export function sentenceOf(action: QueueAction, name: string, changed: boolean): string {
  return `Queue ${name} ${EFFECTS[action][changed ? 0 : 1]}`;
}

/** Whether a queue was changed, and what to say about it. */
export interface Done {
  id: string;
  changed: boolean;
  text: string;
}

/** JSON is an object for one queue, and a list for several or for a receiver, however many there are. */
export function resultOf(done: readonly Done[], isOne: boolean): Result {
  const json = done.map(({ id, changed }) => ({ id, changed }));
  return { json: isOne ? json[0] : { queues: json }, text: done.map(({ text }) => text).join('\n') };
}
