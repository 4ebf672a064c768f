/** The objects that a screen or a part of it follows. */
export interface Watch {
  queueIds?: readonly string[];
  jobIds?: readonly string[];
  actionIds?: readonly string[];
  /** All queues, also those to come, but not their jobs. */
  allQueues?: boolean;
}

export interface FullWatch {
  queueIds: string[];
  jobIds: string[];
  actionIds: string[];
  allQueues: boolean;
}

/** The server refuses more ids of one kind. */
const MAX_IDS = 100;

/** One watch for all mounted parts: each id once, in order, the first 100 of each kind. */
export function mergeWatches(watches: Iterable<Watch>): FullWatch {
  const ids = { queueIds: new Set<string>(), jobIds: new Set<string>(), actionIds: new Set<string>() };
  let allQueues = false;
  for (const watch of watches) {
    allQueues ||= watch.allQueues === true;
    for (const id of watch.queueIds ?? []) ids.queueIds.add(id);
    for (const id of watch.jobIds ?? []) ids.jobIds.add(id);
    for (const id of watch.actionIds ?? []) ids.actionIds.add(id);
  }
  const sorted = (set: Set<string>) => [...set].slice(0, MAX_IDS).sort();
  const [queueIds, jobIds, actionIds] = [sorted(ids.queueIds), sorted(ids.jobIds), sorted(ids.actionIds)];
  return { queueIds, jobIds, actionIds, allQueues };
}

export function isSameWatch(a: FullWatch, b: FullWatch): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
