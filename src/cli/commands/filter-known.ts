import { JobferryApiError, type JobferryClient } from '../../../packages/client/src/index.ts';
import { hasWord, lookUpsFor } from '../../../packages/query/filter/look-ups.ts';
import type { Known } from '../../../packages/query/filter/suggest.ts';
import type { Chip, Table } from '../../../packages/query/filter/table.ts';
import { termsOf } from '../../../packages/query/filter/text.ts';
import { countedFor, countsOf, countVariables, FETCHED_PATHS } from '../../../packages/query/filter/value-counts.ts';
import { likelyPaths } from '../../../packages/query/filter/values.ts';
import { graphql, type ResultOf } from '../../../packages/query/schema/graphql.ts';
import { JobsCount, SuggestPaths } from '../../../packages/query/schema/suggest.ts';
import type { Rights } from '../../../packages/query/words/rights.ts';
import { ask } from '../ask.ts';

/** Look-ups on the server for words of people in `--filter`, as the box makes them while one types. */

/** Whether a term has no word of a filter before it, such as `failed` or `42`. */
export const isBare = (term: string) => !/^[-!]?[a-z]+:|^payload\./.test(term);

/** Whether a term is no condition: `urn:order:7` may be a value, too. */
export const isOfPeople = (table: Table, term: string) => !hasWord(table, term) && !term.startsWith('payload.');

/** Returns the queue that a word of the text is, and the paths in which a thing such as `customer 42` may be. */
export async function knownFor(
  client: JobferryClient,
  table: Table,
  text: string,
  rights: Rights,
): Promise<Pick<Known, 'queues' | 'paths' | 'values' | 'counts'>> {
  const words = termsOf(text)
    .filter((term) => isOfPeople(table, term))
    .join(' ');
  const { path, queue } = lookUpsFor(table, words, rights);
  const [queues, paths] = await Promise.all([
    queue === null || queue === '' ? [] : queuesNamed(client, queue),
    path === null ? [] : pathsFor(client, path).then((all) => likelyPaths(words, all)),
  ]);
  const chips = countedFor(table, words, paths, queues);
  if (chips.length === 0) return { queues, paths, values: [] };
  const found = await Promise.all(chips.map((chip) => countOf(client, chip)));
  return { queues, paths, values: [], counts: countsOf(table, chips, found) };
}

/**
 * Returns in how many jobs the value is; undefined if the server refuses to count them. The counts are over all jobs,
 * and only help to choose a path: the search itself may be narrow.
 */
async function countOf(client: JobferryClient, chip: Chip): Promise<Found | undefined> {
  return ask(client, JobsCount, countVariables(chip)).then(
    ({ count }) => count,
    (error: unknown) => {
      if (error instanceof JobferryApiError) return undefined;
      throw error;
    },
  );
}

type Found = ResultOf<typeof JobsCount>['count'];

const QueueNamed = graphql(`query QueueNamed($name: String!) { queue(name: $name) { name } }`);

/**
 * The box searches by a part of the name, to offer others; a command has no use for a queue whose name is not the word.
 */
async function queuesNamed(client: JobferryClient, name: string): Promise<string[]> {
  const { queue } = await ask(client, QueueNamed, { name });
  return queue === null ? [] : [queue.name];
}

/** Paths that begin with the text, else the most frequent ones, as in the box. */
async function pathsFor(client: JobferryClient, prefix: string): Promise<Known['paths']> {
  const { payloadPaths } = await ask(client, SuggestPaths, { prefix, first: FETCHED_PATHS });
  return payloadPaths.length > 0 || prefix === '' ? payloadPaths : pathsFor(client, '');
}
