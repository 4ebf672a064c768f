import type { JobferryClient } from '../client/index.ts';
import { queueByNameOrId } from './api.ts';
import { CommandError, type Given, type OptionTable, type Result, UsageError } from './command.ts';
import { pageOf } from './database.ts';
import { statusOf } from './job.ts';
import { type Column, facts, printable, table } from './output.ts';
import { jobId } from './values.ts';

/** `job list` and `job show` through the API. */

/** The members are those of the database's form, where both have them. */
interface WireJob {
  id: string;
  status: string;
  createdAt: string;
  scheduledFor: string;
  attempts: number;
  maxAttempts: number;
  lastError: string | null;
}

const FIELDS = 'id status createdAt scheduledFor attempts: attemptsMade maxAttempts lastError';

const COLUMNS: readonly Column<WireJob>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'CREATED', of: ({ createdAt }) => new Date(createdAt) },
  { title: 'DUE', of: ({ scheduledFor }) => new Date(scheduledFor) },
  { title: 'ATTEMPTS', of: ({ attempts, maxAttempts }) => `${attempts}/${maxAttempts}`, isNumber: true },
  { title: 'LAST ERROR', of: ({ lastError }) => lastError },
];

/** GraphQL has pages of 100. */
const PAGE = 100;

export async function listThroughApi(client: JobferryClient, { options }: Given<OptionTable>): Promise<Result> {
  const given = options as unknown as { queue: string; status: string | undefined; limit: string | undefined };
  const status = statusOf(given.status);
  const { limit } = pageOf({ limit: given.limit, after: undefined });
  const queue = await queueByNameOrId(client, given.queue);
  const filter = { queueIds: [queue.id], ...(status === null ? {} : { statuses: [status.toUpperCase()] }) };
  const orderBy = status === 'pending' ? { field: 'SCHEDULED_FOR', direction: 'ASC' } : null;
  const query = `query ($filter: JobFilter!, $first: Int!, $after: String, $orderBy: JobOrder) {
    jobs(filter: $filter, first: $first, after: $after, orderBy: $orderBy) {
      nodes { ${FIELDS} } pageInfo { endCursor hasNextPage } } }`;
  const jobs: WireJob[] = [];
  let after: string | null = null;
  do {
    type Data = { jobs: { nodes: WireJob[]; pageInfo: { endCursor: string; hasNextPage: boolean } } };
    const variables = { filter, orderBy, after, first: Math.min(PAGE, limit - jobs.length) };
    const page: Data = await client.graphql<Data>(query, variables);
    jobs.push(...page.jobs.nodes.map((job) => ({ ...job, status: job.status.toLowerCase() })));
    after = page.jobs.pageInfo.hasNextPage ? page.jobs.pageInfo.endCursor : null;
  } while (after !== null && jobs.length < limit);
  const which = status === null ? '' : ` that are ${status}`;
  return { json: jobs, text: table(COLUMNS, jobs, `Queue ${printable(queue.name)} has no jobs${which}.`) };
}

interface ShownJob extends WireJob {
  state: string;
  queue: { name: string };
  waiting: { message: string } | null;
  deferCount: number;
  idempotencyKey: string | null;
  ackDeadline: string | null;
  progress: { text: string | null } | null;
  deadLetter: { id: string } | null;
  history: { at: string; attempt: number; status: string; error: string | null; webhookStatusCode: number | null }[];
}

const SHOWN = `${FIELDS} state queue { name } waiting { message } deferCount idempotencyKey ackDeadline progress { text } deadLetter { id }
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
    ['dead letter', job.deadLetter?.id],
  ]);
  const lines = job.history.map(({ at, attempt, status, error, webhookStatusCode }) => {
    const details = [webhookStatusCode === null ? null : `status ${webhookStatusCode}`, error].filter(Boolean);
    return `${at}  delivery ${attempt} ended: ${status.toLowerCase()}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  });
  const json = { job: { ...job, status: job.status.toLowerCase() }, queue: job.queue.name, waiting: job.waiting };
  return { json, text: [text, '', ...lines.map(printable)].join('\n').trimEnd() };
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
