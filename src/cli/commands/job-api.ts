import type { JobferryClient } from '../../../packages/client/src/index.ts';
import { adviceOn } from '../../domain/outcome.ts';
import { queueByNameOrId } from './api.ts';
import { CommandError, type Given, type OptionTable, type Result, UsageError } from './command.ts';
import { pageOf } from './database.ts';
import { exportThroughApi, formatOf, rowsOf } from './job-export.ts';
import { questionOf } from './job-filter.ts';
import { type Column, facts, printable, table } from './output.ts';
import { jobId } from './values.ts';

/** `job list` and `job show` through the API. */

/** The members are those of the database's form, where both have them. */
interface WireJob {
  id: string;
  status: string;
  queue: { name: string };
  createdAt: string;
  scheduledFor: string;
  attempts: number;
  maxAttempts: number;
  lastError: string | null;
}

const FIELDS = 'id status queue { name } createdAt scheduledFor attempts: attemptsMade maxAttempts lastError';

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
  const orderBy = given.status === 'pending' ? { field: 'SCHEDULED_FOR', direction: 'ASC' } : null;
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
  question: object,
  limit: number,
): Promise<{ jobs: WireJob[]; hint: string | null }> {
  const query = `query ($filter: JobFilter!, $first: Int!, $after: String, $orderBy: JobOrder) {
    jobs(filter: $filter, first: $first, after: $after, orderBy: $orderBy) {
      nodes { ${FIELDS} } hint pageInfo { endCursor hasNextPage } } }`;
  const jobs: WireJob[] = [];
  let hint: string | null = null;
  let after: string | null = null;
  do {
    type Page = { nodes: WireJob[]; hint: string | null; pageInfo: { endCursor: string; hasNextPage: boolean } };
    type Data = { jobs: Page };
    const variables = { ...question, after, first: Math.min(PAGE, limit - jobs.length) };
    const page: Data = await client.graphql<Data>(query, variables);
    jobs.push(...page.jobs.nodes.map((job) => ({ ...job, status: job.status.toLowerCase() })));
    hint = page.jobs.hint;
    after = page.jobs.pageInfo.hasNextPage ? page.jobs.pageInfo.endCursor : null;
  } while (after !== null && jobs.length < limit);
  return { jobs, hint };
}

interface ShownJob extends WireJob {
  state: string;
  waiting: { message: string } | null;
  deferCount: number;
  idempotencyKey: string | null;
  ackDeadline: string | null;
  progress: { text: string | null } | null;
  deadLetter: {
    id: string;
    replayedAt: string | null;
    lastReplay: { id: string; state: string; endedAt: string | null } | null;
  } | null;
  history: { at: string; attempt: number; status: string; error: string | null; webhookStatusCode: number | null }[];
}

const SHOWN = `${FIELDS} state waiting { message } deferCount idempotencyKey ackDeadline progress { text }
  deadLetter { id replayedAt lastReplay { id state endedAt } }
  history: attempts { at attempt status error webhookStatusCode }`;

export async function showThroughApi(
  client: JobferryClient,
  { argument, options }: Given<OptionTable>,
): Promise<Result> {
  const { key, queue } = options as unknown as { key: string | undefined; queue: string | undefined };
  const id = await wantedId(client, argument, key, queue);
  const { job } = await client.graphql<{ job: ShownJob | null }>(`query ($id: ID!) { job(id: $id) { ${SHOWN} } }`, {
    id,
  });
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
  const { jobs } = await client.graphql<{ jobs: { nodes: { id: string }[] } }>(
    'query ($filter: JobFilter!) { jobs(filter: $filter, first: 1) { nodes { id } } }',
    { filter: { queueIds: [queue.id], idempotencyKey: key } },
  );
  const [found] = jobs.nodes;
  if (found !== undefined) return found.id;
  throw new CommandError(`queue ${printable(queue.name)} has no job with the key ${printable(key)}`);
}
