import { count, NONE, number } from '../../../../query/words/format.ts';
import type { QueueNow } from './queue-condition.ts';

/** Numbers of a row in the table of queues, and when they are a matter of worry. */

/** The ground of a figure: nothing, amber, red. */
type Worry = '' | 'worry' | 'trouble';

const MINUTE = 60_000;

/** A span in one unit, for a narrow column: 90 ms, 0.4 s, 12 s, 8 min, 3 h, 2 d. Rounded down. */
export function brief(ms: number): string {
  const unit = (value: number, name: string) => `${number(Math.floor(value))}\u00a0${name}`;
  if (ms < 1000) return unit(ms, 'ms');
  if (ms < 10_000) return `${String(Math.floor(ms / 100) / 10)}\u00a0s`;
  if (ms < MINUTE) return unit(ms / 1000, 's');
  if (ms < 60 * MINUTE) return unit(ms / MINUTE, 'min');
  return ms < 48 * 60 * MINUTE ? unit(ms / (60 * MINUTE), 'h') : unit(ms / (24 * 60 * MINUTE), 'd');
}

interface Figure {
  text: string;
  worry: Worry;
}

const NO_FIGURE: Figure = { text: NONE, worry: '' };

/** A paused queue is a worry at most: a person wanted it so. */
export function oldestDue({ oldestDueSeconds, paused }: QueueNow): Figure {
  if (oldestDueSeconds === null) return NO_FIGURE;
  const { text, worry } = lateness(oldestDueSeconds * 1000);
  return { text, worry: paused && worry === 'trouble' ? 'worry' : worry };
}

/** The 95th percentile of the wait. */
export function waitFigure(ms: number | null): Figure {
  return ms === null ? NO_FIGURE : lateness(ms);
}

const lateness = (ms: number): Figure => ({
  text: brief(ms),
  worry: ms > 5 * MINUTE ? 'trouble' : ms > MINUTE / 2 ? 'worry' : '',
});

/** Share of the attempts that failed. */
export function failedShare({ all, failed }: { all: number; failed: number }): Figure {
  if (all === 0) return NO_FIGURE;
  const share = (failed / all) * 100;
  // Fewer than one in ten thousand is not none.
  const text =
    share > 0 && share < 0.1 ? 'under 0.1' : share < 10 ? share.toFixed(1).replace('.0', '') : share.toFixed(0);
  return { text: `${text}\u00a0%`, worry: share >= 10 ? 'trouble' : share >= 5 ? 'worry' : '' };
}

/** Dead letters by queue. Groups of errors are what the server counts; it returns at most 100 of them. */
export interface DeadCounts {
  byQueue: ReadonlyMap<string, number>;
  /** False if there were more groups: then each count is a lower bound. */
  isExact: boolean;
}

const MAX_GROUPS = 100;

/** "480", or "480+" of a part of the queues. */
export function sumOfDead({ byQueue, isExact }: DeadCounts, ids: readonly string[], isPart: boolean): string {
  const sum = ids.reduce((all, id) => all + (byQueue.get(id) ?? 0), 0);
  return sum === 0 && (isPart || !isExact) ? NONE : count(sum, isExact && !isPart);
}

export function deadCountsOf(groups: readonly { count: number; queue: { id: string } | null }[]): DeadCounts {
  const byQueue = new Map<string, number>();
  for (const { count: letters, queue } of groups) {
    if (queue !== null) byQueue.set(queue.id, (byQueue.get(queue.id) ?? 0) + letters);
  }
  return { byQueue, isExact: groups.length < MAX_GROUPS };
}
