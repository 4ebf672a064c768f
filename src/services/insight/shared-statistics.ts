import type { QueueInsight } from './queues.ts';

/**
 * For so long, all who look at the same timelines of an account are shown the same ones, so a chart is up to a second
 * behind. Five viewers cost the database little more than one. States and what is counted by state are never shared:
 * they are those of the moment.
 */
const SHARED_MS = 1000;

export function sharingStatistics<T extends Pick<QueueInsight, 'timelines'>>(insight: T): T {
  return {
    ...insight,
    timelines: shared((account, queueIds, input) => insight.timelines(account, queueIds, input)),
  };
}

/** Calls with the same arguments get the same answer, from when it was asked for until it is too old. */
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
