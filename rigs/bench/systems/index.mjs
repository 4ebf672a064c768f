import { jobferry, jobferryOne } from './jobferry.mjs';
import { bullmqAlways, bullmqEverysec, floor, graphileWorker, pgBoss } from './peer.mjs';

/**
 * A system has `name`, `label`, `isOwn` (whether it is Jobferry) and `start(stage, options)`,
 * which resolves when it takes jobs:
 *   target       where to publish: host, port, apiKey and paths, one for each queue
 *   secrets      signing secret of each queue
 *   cpu()        CPU microseconds so far by part: api, worker, postgres or redis
 *   peakRss()    MB by process
 *   warmedUp()   called before the measurement; absent where the system does not need it
 *   settled()    resolves when work that was put off is done; absent where nothing is put off
 *   stop()
 *   published, accepted, records   kept by the measuring code
 */
export const SYSTEMS = [floor, jobferry, jobferryOne, bullmqEverysec, bullmqAlways, pgBoss, graphileWorker];

export function systemsNamed(names) {
  return names.map((name) => {
    const system = SYSTEMS.find((candidate) => candidate.name === name);
    if (system === undefined) throw new Error(`no system ${name}; there are ${SYSTEMS.map((known) => known.name).join(', ')}`);
    return system;
  });
}
