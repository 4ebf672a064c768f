import type { JobStatus, WaitReason } from '../words.ts';
import type { Filter, StateName } from './chips.ts';

const STATE_OF_REASON: Readonly<Partial<Record<WaitReason, StateName>>> = {
  DUE: 'due',
  DELAYED: 'scheduled',
  BACKOFF: 'retrying',
  HELD: 'held',
};

const STATE_OF_STATUS: Readonly<Record<Exclude<JobStatus, 'PENDING'>, StateName>> = {
  PROCESSING: 'processing',
  AWAITING_ACK: 'awaiting-ack',
  COMPLETED: 'completed',
  DEAD: 'dead',
};

const PENDING: readonly StateName[] = ['due', 'scheduled', 'retrying', 'held'];

/**
 * Whether a job of a list still matches, as far as its state says. A job that waits for its queue may be in any pending
 * state, so it counts as matching if one of them does.
 */
export function stillMatches(
  filter: Filter,
  job: { status: JobStatus; waiting: { reason: WaitReason } | null },
): boolean {
  const chip = filter.find(({ word }) => word === 'state');
  if (chip?.word !== 'state') return true;
  if (job.status !== 'PENDING') return chip.values.includes(STATE_OF_STATUS[job.status]);
  const state = STATE_OF_REASON[job.waiting?.reason ?? 'DUE'];
  return state === undefined ? chip.values.some((value) => PENDING.includes(value)) : chip.values.includes(state);
}
