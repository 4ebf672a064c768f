import type { JobferryClient } from '../client/index.ts';
import { DEAD_LETTERS, queueNamesOf, toDeadLetterFilter } from '../dashboard/filter/dead-letters.ts';
import { addChip, formatChip, formatFilter, parseFilter, parseTerm } from '../dashboard/filter/engine.ts';
import { JOBS, toJobFilter } from '../dashboard/filter/jobs.ts';
import { meaningsOf } from '../dashboard/filter/suggest.ts';
import type { Filter, Table } from '../dashboard/filter/table.ts';
import { queueByNameOrId } from './api.ts';
import { UsageError } from './command.ts';
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
  const terms = [
    ...(queue === null ? [] : [`queue:${JSON.stringify(queue)}`]),
    ...(status === null ? [] : [`state:${status}`]),
  ];
  const { server } = await client.graphql<{ server: { now: string } }>('{ server { now } }');
  const now = Date.parse(server.now);
  if (!given.dead) {
    const chips = chipsOf(JOBS, given.filter ?? '', terms, now);
    return { of: 'jobs', filter: formatFilter(JOBS, chips), variables: { filter: toJobFilter(chips, now) } };
  }
  const chips = chipsOf(DEAD_LETTERS, given.filter ?? '', terms, now);
  const names = queueNamesOf(chips);
  const queueIds = await Promise.all(names.map(async (name) => (await queueByNameOrId(client, name)).id));
  const filter = toDeadLetterFilter(chips, { queueIds, now });
  return { of: 'dead-letters', filter: formatFilter(DEAD_LETTERS, chips), variables: { filter } };
}

/** The chips of the text, and of the terms that other options stand for. */
function chipsOf<T extends Table>(table: T, text: string, terms: readonly string[], now: number): Filter<T> {
  // Words of people, such as `failed yesterday`, mean what the box takes them for.
  const meant = meaningsOf(table, text, { queues: [], paths: [], values: [] }, now).flatMap(
    ({ words, chips: found }) => (found.length === 0 ? words : found.map((chip) => formatChip(table, chip))),
  );
  const chips = terms.reduce(
    (all, term) => addChip(table, all, parseTerm(table, term)),
    parseFilter(table, meant.join(' ')),
  );
  for (const chip of chips as Filter) {
    if ('problem' in chip) throw new UsageError(`--filter: ${chip.text}: ${chip.problem}`);
  }
  return chips;
}
