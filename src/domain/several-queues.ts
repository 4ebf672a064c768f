import { invalidField, JobferryError } from './errors.ts';
import { assertAccountConcurrency } from './plan.ts';
import type { QueueSettings } from './queue.ts';
import { asReceiver, otherPorts, receiverOf } from './receiver-host.ts';
import { printable } from './text.ts';

/** Changes of several queues at once: which queues, and what becomes of each. */

/** Queues of one call: more than an account can have live ones. */
export const MAX_CHOSEN = 1000;
/**
 * Entries that the audit log of an account may get in 24 hours before changes of several queues are refused: each of
 * them may write a thousand, and they are kept for 366 days. Changes of one queue go on.
 */
export const MAX_AUDITED_A_DAY = 50_000;

/** One of these chooses the queues. */
export interface QueueChoice {
  ids?: readonly string[] | null | undefined;
  names?: readonly string[] | null | undefined;
  /** All queues that deliver to this host. */
  receiver?: string | null | undefined;
}

export type Limits = Pick<QueueSettings, 'concurrency' | 'rateLimitMax' | 'rateLimitWindow'>;

export const QUEUE_OUTCOMES = ['changed', 'unchanged', 'changed_since', 'not_found'] as const;

/** The outcome of one of the chosen queues. */
export interface QueueOutcome {
  /** Null for a name that no queue has. */
  id: string | null;
  /** Null for an id that no live queue has. */
  name: string | null;
  outcome: (typeof QUEUE_OUTCOMES)[number];
  /** Before the change; null for a queue that was not found. */
  limits: Limits | null;
}

interface Named {
  id: string;
  name: string;
  webhookUrl: string;
}

/** A queue that was chosen; without an id if it was chosen by a name that none has. */
export interface Chosen {
  id: string | null;
  name: string | null;
}

/**
 * Returns the chosen queues, each once.
 * @param live the live queues of the account
 * @throws JobferryError `invalid_fields` (not exactly one way to choose, too many), `not_found` (nothing delivers to
 * the receiver)
 */
export function chosenOf({ ids, names, receiver }: QueueChoice, live: readonly Named[]): Chosen[] {
  if ([ids, names, receiver].filter((way) => way != null).length !== 1)
    throw invalidField('queues', 'give one of ids, names and receiver');
  if (receiver?.trim() === '') throw invalidField('receiver', 'must be the host of webhook URLs');
  if (receiver != null) return deliveringTo(receiver, live).map(({ id, name }) => ({ id, name }));
  const given = [...new Set(ids ?? names ?? [])];
  if (given.length === 0 || given.length > MAX_CHOSEN)
    throw invalidField('queues', `must be 1 to ${MAX_CHOSEN} ids or names`);
  const known = new Map(live.map((queue) => [ids == null ? queue.name : queue.id, queue]));
  return given.map((one) => {
    const { id = ids == null ? null : one, name = ids == null ? one : null } = known.get(one) ?? {};
    return { id, name };
  });
}

/** Returns the queues that deliver to a receiver. @throws JobferryError `not_found` if none does */
export function deliveringTo<Queue extends { webhookUrl: string }>(receiver: string, live: readonly Queue[]): Queue[] {
  const wanted = asReceiver(receiver);
  const found = live.filter(({ webhookUrl }) => receiverOf(webhookUrl) === wanted);
  if (found.length > 0) return found;
  const urls = live.map(({ webhookUrl }) => webhookUrl);
  const others = otherPorts(urls, receiver);
  const but = others.length === 0 ? 'give the host of the webhook URL' : `queues deliver to ${others.join(', ')}`;
  throw new JobferryError('not_found', `no queue delivers to ${printable(receiver.trim().slice(0, 300))}: ${but}`);
}

/** Whether a limit to set is not that of the queue. */
export function isOther(present: Limits, wanted: Partial<Limits>): boolean {
  return (Object.keys(wanted) as (keyof Limits)[]).some((name) => wanted[name] !== present[name]);
}

/** Former limits of a queue, for an undo. */
export interface FormerLimits extends Limits {
  id: string;
}

/**
 * Returns the limits of an undo by queue: of those that still have what the action set,
 * the former values of what it set.
 * @param limits what the action set
 */
export function undoneLimits(
  present: readonly (Limits & { id: string })[],
  former: readonly FormerLimits[],
  limits: Partial<Limits>,
): Map<string, Partial<Limits>> {
  const before = new Map(former.map((one) => [one.id, one]));
  const names = Object.keys(limits) as (keyof Limits)[];
  return new Map(
    present.flatMap((queue) => {
      const back = before.get(queue.id);
      if (back === undefined || isOther(queue, limits)) return [];
      return [[queue.id, Object.fromEntries(names.map((name) => [name, back[name]])) as Partial<Limits>]];
    }),
  );
}

/**
 * Refuses changes that raise the account's total concurrency above its limit.
 * @param total of all queues of the account
 * @throws JobferryError `forbidden`
 */
export function assertTotalAfter(
  present: readonly (Limits & { id: string })[],
  wanted: ReadonlyMap<string, Partial<Limits>>,
  total: number,
): void {
  const raised = present.reduce((sum, { id, concurrency }) => {
    return sum + (wanted.get(id)?.concurrency ?? concurrency) - concurrency;
  }, 0);
  if (raised > 0) assertAccountConcurrency(total + raised);
}
