import type { JobferryClient } from '../client/index.ts';
import { DEAD_LETTERS, queueNamesOf, toDeadLetterFilter } from '../dashboard/filter/dead-letters.ts';
import { formatFilter } from '../dashboard/filter/engine.ts';
import { JOBS, toJobFilter } from '../dashboard/filter/jobs.ts';
import { queueByNameOrId } from './api.ts';
import { UsageError } from './command.ts';
import { chipsOf } from './filter-chips.ts';
import { statusOf } from './job.ts';

/** The filter of the dashboard's boxes on the command line: `--filter 'state:dead payload.customer.id:42'`. */

export interface JobQuestion {
  of: 'jobs' | 'dead-letters';
  /** In the words of the box. */
  filter: string;
  /** For the API, with absolute times. */
  variables: { filter: object };
}

interface Given {
  filter: string | undefined;
  queue: string | undefined;
  status: string | undefined;
  dead: boolean;
}

/** @throws UsageError for words that are no condition */
export async function questionOf(client: JobferryClient, given: Given): Promise<JobQuestion> {
  if (given.dead && given.status !== undefined)
    throw new UsageError('--status is for jobs, and --dead for dead letters');
  const status = statusOf(given.status);
  const queue = given.queue === undefined ? null : (await queueByNameOrId(client, given.queue)).name;
  const others = [
    ...(queue === null ? [] : [{ option: '--queue', term: `queue:${JSON.stringify(queue)}` }]),
    ...(status === null ? [] : [{ option: '--status', term: `state:${status}` }]),
  ];
  const { server } = await client.graphql<{ server: { now: string } }>('{ server { now } }');
  const now = Date.parse(server.now);
  if (!given.dead) {
    const chips = chipsOf(JOBS, given.filter ?? '', others, now);
    return { of: 'jobs', filter: formatFilter(JOBS, chips), variables: { filter: toJobFilter(chips, now) } };
  }
  const chips = chipsOf(DEAD_LETTERS, given.filter ?? '', others, now);
  const names = queueNamesOf(chips);
  const queueIds = await Promise.all(names.map(async (name) => (await queueByNameOrId(client, name)).id));
  const filter = toDeadLetterFilter(chips, { queueIds, now });
  return { of: 'dead-letters', filter: formatFilter(DEAD_LETTERS, chips), variables: { filter } };
}
