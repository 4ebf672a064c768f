import type { Account } from '../../domain/account.ts';
import { shared } from '../shared.ts';
import type { QueueInsight } from './queues.ts';

/**
 * Milliseconds for which calls with the same arguments share a result, so a chart is up to a second behind, and five
 * viewers cost the database little more than one. States and counts by state are never shared: they are always current.
 */
const SHARED_MS = 1000;

export function sharingStatistics<T extends Pick<QueueInsight, 'timelines' | 'totalTimeline'>>(insight: T): T {
  return {
    ...insight,
    timelines: shared(SHARED_MS, (account, queueIds, input) => insight.timelines(account, queueIds, input), keyOf),
    totalTimeline: shared(SHARED_MS, (account, input) => insight.totalTimeline(account, input), keyOf),
  };
}

const keyOf = ({ id }: Account, ...rest: unknown[]) => JSON.stringify([id, ...rest]);
