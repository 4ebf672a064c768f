import type { JobferryClient } from '../../../packages/client/src/index.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../../packages/query/schema/graphql.ts';
import { adviceOn } from '../../domain/outcome.ts';
import { ask } from '../ask.ts';
import { queueByNameOrId } from './api.ts';
import { CommandError, type Given, type OptionTable, type Result, UsageError } from './command.ts';
import { pageOf } from './database.ts';
import { exportThroughApi, formatOf, rowsOf } from './job-export.ts';
import { questionOf } from './job-filter.ts';
import { type Column, facts, printable, table } from './output.ts';
import { jobId } from './values.ts';

/** `job list` and `job show` through the API. */

/** The members are those of the database's form, where both have them. */
const LISTED_JOB = graphql(`
  fragment ListedJob on Job {
    id status queue { name } createdAt scheduledFor attempts: attemptsMade maxAttempts lastError
  }
`);

const ListJobs = graphql(
  `query ListJobs($filter: JobFilter!, $first: Int!, $after: String, $orderBy: JobOrder) {
    jobs(filter: $filter, first: $first, after: $after, orderBy: $orderBy) {
      nodes { ...ListedJob } hint pageInfo { endCursor hasNextPage }
    }
  }`,
  [LISTED_JOB],
);

const ShowJob = graphql(
  `query ShowJob($id: ID!) {
    job(id: $id) {
      ...ListedJob state waiting { message } deferCount idempotencyKey ackDeadline progress { text }
      deadLetter { id replayedAt lastReplay { id state endedAt } }
      history: attempts { at attempt status error webhookStatusCode }
    }
  }`,
  [LISTED_JOB],
);

const JobOfKey = graphql(`query JobOfKey($filter: JobFilter!) { jobs(filter: $filter, first: 1) { nodes { id } } }`);

type WireJob = Omit<ResultOf<typeof LISTED_JOB>, 'status'> & { status: string };

const COLUMNS: readonly Column<WireJob>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'CREATED', of: ({ createdAt }) => new Date(createdAt) },
  { title: 'DUE', of: ({ scheduledFor }) => new Date(scheduledFor) },
  { title: 'ATTEMPTS', of: ({ attempts, maxAttempts }) => `${attempts}/${maxAttempts}`, isNumber: true },
  { title: 'LAST ERROR', of: ({ lastError }) => lastError },
];

const QUEUE_COLUMN: Column<WireJob> = { title: 'QUEUE', of: ({ queue }) => queue.name };

/** GraphQL has pages of 100. */
const PAGE = 100;

interface GivenToList {
  queue: string | undefined;
  status: string | undefined;
  filter: string | undefined;
  format: string | undefined;
  payload: boolean;
  dead: boolean;
  limit: string | undefined;
}

export async function listThroughApi(client: JobferryClient, { options }: Given<OptionTable>): Promise<Result> {
  const given = options as unknown as GivenToList;
  if (given.format !== undefined) {
    const more = { format: formatOf(given.format), payloads: given.payload, limit: rowsOf(given.limit) };
    return exportThroughApi(client, await questionOf(client, given), more);
  }
  if (given.payload || given.dead) throw new UsageError('--payload and --dead need --format csv or ndjson');
  if (given.queue === undefined && given.filter === undefined) throw new UsageError('--queue or --filter is missing');
  const { limit } = pageOf({ limit: given.limit, after: undefined });
  const { variables, understood } = await questionOf(client, given);
  const orderBy = given.status === 'pending' ? ({ field: 'SCHEDULED_FOR', direction: 'ASC' } as const) : null;
  const { jobs, hint } = await jobsOf(client, { ...variables, orderBy }, limit);
  // Jobs of one queue need no column for it.
  const columns = given.queue === undefined ? COLUMNS.toSpliced(1, 0, QUEUE_COLUMN) : COLUMNS;
  const which = given.status === undefined ? '' : ` that are ${given.status}`;
  const none =
    given.filter === undefined ? `Queue ${printable(given.queue ?? '')} has no jobs${which}.` : 'No job matches.';
  const notes = [understood === null ? [] : `understood as ${understood}`, hint ?? []].flat();
  return { json: jobs, text: table(columns, jobs, none), notes };
}

/** Returns the jobs; if there are none, also why, as far as that is known. */
async function jobsOf(
  client: JobferryClient,
  question: Pick<VariablesOf<typeof ListJobs>, 'filter' | 'orderBy'>,
  limit: number,
): Promise<{ jobs: WireJob[]; hint: string | null }> {
  const jobs: WireJob[] = [];
  let hint: string | null = null;
  let after: string | null = null;
  do {
    const variables = { ...question, after, first: Math.min(PAGE, limit - jobs.length) };
    const page: ResultOf<typeof ListJobs> = await ask(client, ListJobs, variables);
    jobs.push(...page.jobs.nodes.map((job) => ({ ...job, status: job.status.toLowerCase() })));
    hint = page.jobs.hint;
    after = page.jobs.pageInfo.hasNextPage ? page.jobs.pageInfo.endCursor : null;
  } while (after !== null && jobs.length < limit);
  return { jobs, hint };
}

type ShownJob = NonNullable<ResultOf<typeof ShowJob>['job']>;

export async function showThroughApi(
  client: JobferryClient,
  { argument, options }: Given<OptionTable>,
): Promise<Result> {
  const { key, queue } = options as unknown as { key: string | undefined; queue: string | undefined };
  const id = await wantedId(client, argument, key, queue);
  const { job } = await ask(client, ShowJob, { id });
  if (job === null) throw new CommandError(`job ${id} does not exist`);
  const text = facts([
    ['id', job.id],
    ['queue', job.queue.name],
    ['state', job.state.toLowerCase()],
    ['waits', job.waiting?.message],
    ['attempts', `${job.attempts} of ${job.maxAttempts}`],
    ['holds', job.deferCount],
    ['idempotency key', job.idempotencyKey ?? undefined],
    ['published', new Date(job.createdAt)],
    ['scheduled for', new Date(job.scheduledFor)],
    ['ack deadline', job.ackDeadline === null ? undefined : new Date(job.ackDeadline)],
    ['progress', job.progress?.text ?? undefined],
    ['last error', job.lastError ?? undefined],
    ['what to do', adviceOn(job.lastError) ?? undefined],
    ['dead letter', job.deadLetter?.id],
    ['replayed', replayOf(job)],
  ]);
  const lines = job.history.map(({ at, attempt, status, error, webhookStatusCode }) => {
    const details = [webhookStatusCode === null ? null : `status ${webhookStatusCode}`, error].filter(Boolean);
    return `${at}  delivery ${attempt} ended: ${status.toLowerCase()}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  });
  const json = { job: { ...job, status: job.status.toLowerCase() }, queue: job.queue.name, waiting: job.waiting };
  return { json, text: [text, '', ...lines.map(printable)].join('\n').trimEnd() };
}

/** When it was replayed, and what became of the last of its replays. */
function replayOf({ deadLetter }: ShownJob): string | undefined {
  const { replayedAt = null, lastReplay = null } = deadLetter ?? {};
  if (replayedAt === null) return undefined;
  const { id, state, endedAt } = lastReplay ?? { id: '-', state: 'gone', endedAt: null };
  return `${replayedAt}, as job ${id}: ${state.toLowerCase()}${endedAt === null ? '' : ` at ${endedAt}`}`;
}

async function wantedId(
  client: JobferryClient,
  argument: string,
  key: string | undefined,
  queueName: string | undefined,
): Promise<string> {
  if (key === undefined) {
    if (argument === '') throw new UsageError('the id of the job is missing, or its --key and --queue');
    return jobId(argument);
  }
  if (argument !== '') throw new UsageError('give the id of the job or its --key, not both');
  if (queueName === undefined) throw new UsageError('--queue is missing: keys belong to a queue');
  const queue = await queueByNameOrId(client, queueName);
  const { jobs } = await ask(client, JobOfKey, { filter: { queueIds: [queue.id], idempotencyKey: key } });
  const [found] = jobs.nodes;
  if (found !== undefined) return found.id;
  throw new CommandError(`queue ${printable(queue.name)} has no job with the key ${printable(key)}`);
}
