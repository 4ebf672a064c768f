import type { QueueInsight } from './queues.ts';

/**
 * Milliseconds for which calls with the same arguments share a result, so a chart is up to a second behind, and five
 * viewers cost the database little more than one. States and counts by state are never shared: they are always current.
 */
const SHARED_MS = 1000;

export function sharingStatistics<T extends Pick<QueueInsight, 'timelines' | 'totalTimeline'>>(insight: T): T {
  return {
    ...insight,
    timelines: shared((account, queueIds, input) => insight.timelines(account, queueIds, input)),
    totalTimeline: shared((account, input) => insight.totalTimeline(account, input)),
  };
}

/** Returns the same result to calls with the same arguments, until the result is too old. */
function shared<Arguments extends [{ id: string }, ...unknown[]], Answer>(
  ask: (...args: Arguments) => Promise<Answer>,
): (...args: Arguments) => Promise<Answer> {
  const answers = new Map<string, Promise<Answer>>();
  return (...args) => {
    const [{ id }, ...rest] = args;
    const key = JSON.stringify([id, ...rest]);
    const present = answers.get(key);
    if (present !== undefined) return present;
    const answer = ask(...args);
    const forget = () => {
      if (answers.get(key) === answer) answers.delete(key);
    };
    answers.set(key, answer);
    setTimeout(forget, SHARED_MS).unref();
    answer.catch(forget);
    return answer;
  };
}
