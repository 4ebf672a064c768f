import { setTimeout as sleep } from 'node:timers/promises';
import { JobferryApiError, type JobferryClient } from '../../../packages/client/src/index.ts';
import { mayPass } from '../../../packages/client/src/verbs/poll.ts';
import type { Format } from '../../../packages/query/export/format.ts';
import { exported, MAX_ROWS, type Ports, type Wanted } from '../../../packages/query/export/run.ts';
import { graphql, textOf } from '../../../packages/query/schema/graphql.ts';
import { ask } from '../ask.ts';
import { CommandError, type Result, UsageError } from './command.ts';
import type { JobQuestion } from './job-filter.ts';

/** `job list --format`: the file that the dashboard exports for the same filter, on the standard output. */

const RETRY = { firstMs: 1000, maxMs: 30_000 };

/** @throws UsageError */
export function formatOf(text: string): Format {
  if (text === 'csv' || text === 'ndjson') return text;
  throw new UsageError('--format must be csv or ndjson');
}

/** @throws UsageError */
export function rowsOf(text: string | undefined): number {
  const rows = text === undefined ? MAX_ROWS : Number(text);
  if (Number.isInteger(rows) && rows >= 1 && rows <= MAX_ROWS) return rows;
  throw new UsageError(`--limit must be a whole number from 1 to ${MAX_ROWS} with --format`);
}

/** @returns the file as a stream, after its first line has been read: a refusal comes before any output */
export async function exportThroughApi(
  client: JobferryClient,
  { of, filter, variables }: JobQuestion,
  more: Pick<Wanted, 'format' | 'limit' | 'payloads'>,
): Promise<Result> {
  const pieces = exported({ of, filter, variables, ...more }, portsOf(client));
  const first = await pieces.next();
  const notes: string[] = [];
  const withoutRows = async () => {
    const hint = await hintOf(client, of, variables);
    if (hint !== null) notes.push(hint);
  };
  return { json: null, text: '', stream: textsOf(pieces, first, { limit: more.limit, withoutRows }), notes };
}

const JobsHint = graphql(`
  query JobsHint($filter: JobFilter) { list: jobs(filter: $filter, first: 1) { hint } }
`);
const DeadLettersHint = graphql(`
  query DeadLettersHint($filter: DeadLetterFilter) { list: deadLetters(filter: $filter, first: 1) { hint } }
`);

/**
 * Returns why nothing matches, as far as that is known. The file is whole without it,
 * so a failure is none of the command.
 */
async function hintOf(client: JobferryClient, of: JobQuestion['of'], variables: object): Promise<string | null> {
  const asked = of === 'jobs' ? ask(client, JobsHint, variables) : ask(client, DeadLettersHint, variables);
  return asked.then(
    ({ list: { hint } }) => hint,
    () => null,
  );
}

type Pieces = ReturnType<typeof exported>;

async function* textsOf(
  pieces: Pieces,
  first: Awaited<ReturnType<Pieces['next']>>,
  { limit, withoutRows }: { limit: number | undefined; withoutRows: () => Promise<void> },
): AsyncGenerator<string> {
  for (let next = first; ; next = await pieces.next()) {
    if (next.done !== true) {
      yield next.value.text;
      continue;
    }
    const { why, rows, isCut } = next.value;
    if (why === null && rows === 0) await withoutRows();
    // Fewer rows than the most that there can be were asked for.
    if (why === null || (isCut && limit !== undefined && limit < MAX_ROWS)) return;
    throw new CommandError(`the export is incomplete (rows written: ${rows}): ${why}`);
  }
}

function portsOf(client: JobferryClient): Ports {
  return {
    ask: (operation, variables) => client.graphql(textOf(operation), variables as object),
    afterFailure: (error, failures) => {
      if (!mayPass(error)) return error instanceof JobferryApiError && error.status === 400 ? 'smaller' : 'end';
      const leastMs = error instanceof JobferryApiError ? (error.retryAfter ?? 0) * 1000 : 0;
      return Math.max(Math.min(RETRY.firstMs * 2 ** failures, RETRY.maxMs), leastMs);
    },
    wait: (ms) => sleep(ms),
  };
}
