import type { JobferryClient } from '../../../packages/client/src/index.ts';
import { DEAD_LETTERS, queueNamesOf, toDeadLetterFilter } from '../../../packages/query/filter/dead-letters.ts';
import { formatFilter } from '../../../packages/query/filter/engine.ts';
import { JOBS, toJobFilter } from '../../../packages/query/filter/jobs.ts';
import type { Known } from '../../../packages/query/filter/suggest.ts';
import type { Filter, Table } from '../../../packages/query/filter/table.ts';
import { termsOf } from '../../../packages/query/filter/text.ts';
import { graphql } from '../../../packages/query/schema/graphql.ts';
import { ask } from '../ask.ts';
import { queueByNameOrId } from './api.ts';
import { UsageError } from './command.ts';
import { chipsOf } from './filter-chips.ts';
import { isOfPeople, knownFor } from './filter-known.ts';
import { statusOf } from './job.ts';

/** The filter of the dashboard's boxes on the command line: `--filter 'state:dead payload.customer.id:42'`. */

export interface JobQuestion {
  of: 'jobs' | 'dead-letters';
  /** In the words of the box. */
  filter: string;
  /** Its text if it was given in words of people, for a line about it; null if not. */
  understood: string | null;
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
  const text = given.filter ?? '';
  const { now, known } = await contextOf(client, given.dead ? DEAD_LETTERS : JOBS, text);
  const isInWords = termsOf(text).some((term) => isOfPeople(given.dead ? DEAD_LETTERS : JOBS, term));
  const questionIn = <T extends Table>(table: T, chips: Filter<T>) => {
    const filter = formatFilter(table, chips);
    return { filter, understood: isInWords && filter !== text ? filter : null };
  };
  if (!given.dead) {
    const chips = chipsOf(JOBS, text, others, known, now);
    return { of: 'jobs', ...questionIn(JOBS, chips), variables: { filter: toJobFilter(chips, now) } };
  }
  const chips = chipsOf(DEAD_LETTERS, text, others, known, now);
  const names = queueNamesOf(chips);
  const queueIds = await Promise.all(names.map(async (name) => (await queueByNameOrId(client, name)).id));
  const filter = toDeadLetterFilter(chips, { queueIds, now });
  return { of: 'dead-letters', ...questionIn(DEAD_LETTERS, chips), variables: { filter } };
}

const FilterContext = graphql(`query FilterContext { server { now } me { role mayViewPayloads } }`);

/** The server's time, and what it knows about words of people in the text. */
async function contextOf(client: JobferryClient, table: Table, text: string): Promise<{ now: number; known: Known }> {
  const { server, me } = await ask(client, FilterContext, {});
  return { now: Date.parse(server.now), known: await knownFor(client, table, text, me) };
}
