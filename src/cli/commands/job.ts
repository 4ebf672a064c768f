import type { Database } from '../../db/connection/database.ts';
import {
  findJob,
  type JobSummary,
  jobWithKey,
  LISTED_STATUSES,
  listJobs,
  MAX_EXAMINED,
  type ShownJob,
} from '../../db/operator/jobs.ts';
import { lockHolders } from '../../db/operator/locks.ts';
import { blindRole } from '../../db/operator/snapshots.ts';
import { locksInWords } from '../../domain/doctor-locks.ts';
import { statusMeantBy } from '../../domain/job.ts';
import { adviceOn } from '../../domain/outcome.ts';
import { whyWaiting } from '../../domain/waiting.ts';
import { CommandError, command, UsageError } from './command.ts';
import { found, idOf, pageOf, ROWS, withDatabase } from './database.ts';
import { lifeOf } from './job-timeline.ts';
import { type Column, facts, printable, table, time } from './output.ts';
import { isWorkerRunning, NO_WORKER, OF_QUEUE, queueOf } from './queue-of.ts';

const COLUMNS: readonly Column<JobSummary>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
  { title: 'DUE', of: ({ scheduledFor }) => scheduledFor },
  { title: 'ATTEMPTS', of: ({ attempts, maxAttempts }) => `${attempts}/${maxAttempts}`, isNumber: true },
  { title: 'LAST ERROR', of: ({ lastError }) => lastError },
];

export const JOB_LIST = command({
  name: 'job list',
  summary:
    'List jobs of a queue, newest first; pending ones in the order in which they are due. Through the API also those of a filter, or as a file.',
  options: {
    queue: { value: 'QUEUE', help: 'the id or the name of the queue; needed without --filter and --format' },
    ...OF_QUEUE,
    status: { value: 'S', help: `only those in this status: ${LISTED_STATUSES.join(', ')}` },
    filter: {
      value: 'TEXT',
      help: "conditions as in the dashboard's box, such as 'state:dead created:>-1d'; needs the API",
    },
    format: { value: 'F', help: 'csv or ndjson: the file that the dashboard exports, newest first; needs the API' },
    payload: { help: 'with --format: also the payloads' },
    dead: { help: 'with --format: dead letters in place of jobs, with the conditions of their filter box' },
    limit: { ...ROWS, help: `${ROWS.help}; with --format up to 100000, which is the default` },
  },
  run: async (
    { options: { queue: wanted, account, status: text, limit, filter, format, payload, dead } },
    environment,
  ) => {
    if (filter !== undefined || format !== undefined || payload || dead)
      throw new UsageError(
        '--filter, --format, --payload and --dead need the API: set JOBFERRY_URL and JOBFERRY_API_KEY',
      );
    if (wanted === undefined) throw new UsageError('--queue is missing');
    return withDatabase(environment, async ({ db }) => {
      const status = statusOf(text);
      const page = pageOf({ limit, after: undefined });
      const { queue } = await queueOf(db, wanted, account);
      const jobs = await listJobs(db, queue.id, { status, limit: page.limit });
      const which = status === null ? '' : ` that are ${status}`;
      const note =
        status === 'completed' && jobs.length < page.limit
          ? `\n\nCompleted jobs are looked up among the newest ${MAX_EXAMINED} jobs of a queue.`
          : '';
      return { json: jobs, text: table(COLUMNS, jobs, `Queue ${printable(queue.name)} has no jobs${which}.`) + note };
    });
  },
});

/** @returns null for all. @throws UsageError for a status that there is not */
export function statusOf(text: string | undefined): (typeof LISTED_STATUSES)[number] | null {
  const status = LISTED_STATUSES.find((known) => known === text) ?? null;
  if (text === undefined || status !== null) return status;
  const meant = statusMeantBy(text);
  const doubt = meant === undefined ? '' : ` (did you mean ${meant}?)`;
  throw new UsageError(`--status must be one of ${LISTED_STATUSES.join(', ')}${doubt}`);
}

export const JOB_SHOW = command({
  name: 'job show',
  summary: 'Show a job and its life as a timeline, without its payload.',
  options: {
    key: { value: 'KEY', help: 'the idempotency key of the job, in place of its id; needs --queue' },
    queue: { value: 'QUEUE', help: 'with --key: the id or the name of its queue' },
    ...OF_QUEUE,
  },
  argument: { name: 'ID', what: 'the id of the job', optional: true },
  run: ({ argument, options }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const id = await jobIdOf(db, argument, options);
      const shown = found(await findJob(db, id), 'job', id);
      const { job, queue, deadLetter, attempts } = shown;
      const life = lifeOf(shown);
      const waiting = waitingOf(shown);
      const workerRunning = await isWorkerRunning(db);
      const isUnexplained = waiting?.reason === 'due' && workerRunning;
      const locks = isUnexplained ? await lockHolders(db) : [];
      const lockWords = locksInWords(locks, isUnexplained ? await blindRole(db) : null);
      const lines = life.map(({ at, what }) => `${time(at)}  ${printable(what)}`);
      return {
        json: { job, queue: queue?.name ?? null, waiting, workerRunning, locks, deadLetter, attempts, life },
        text: `${describe(shown, sentence(waiting, workerRunning), lockWords)}\n\n${lines.join('\n')}`,
      };
    }),
});

interface Wanted {
  readonly key: string | undefined;
  readonly queue: string | undefined;
  readonly account: string | undefined;
}

/** @throws UsageError */
async function jobIdOf(db: Database, argument: string, { key, queue, account }: Wanted): Promise<string> {
  if (key === undefined) {
    if (argument === '') throw new UsageError('the id of the job is missing, or its --key and --queue');
    return idOf(argument, 'job');
  }
  if (argument !== '') throw new UsageError('give the id of the job or its --key, not both');
  if (queue === undefined) throw new UsageError('--queue is missing: keys belong to a queue');
  const { queue: of } = await queueOf(db, queue, account);
  const id = await jobWithKey(db, of.id, key);
  if (id === null) throw new CommandError(`queue ${printable(of.name)} has no job with the key ${printable(key)}`);
  return id;
}

function waitingOf({ waiting }: ShownJob) {
  return waiting === null ? null : whyWaiting(waiting.job, waiting.queue, waiting.now);
}

function sentence(waiting: ReturnType<typeof waitingOf>, workerRunning: boolean): string | undefined {
  if (waiting === null || workerRunning) return waiting?.message;
  return waiting.reason === 'due' ? `${NO_WORKER}.` : `${NO_WORKER}. ${waiting.message}`;
}

function describe({ job, queue }: ShownJob, waiting: string | undefined, locks: readonly string[]): string {
  const isOpen = job.completedAt === null && job.deadAt === null;
  return facts([
    ['id', job.id],
    ['queue', queue === null ? job.queueId : `${queue.name} (${queue.id})`],
    ['account', job.accountId],
    ['status', job.status],
    ['waits', waiting],
    ...locks.map((words) => ['perhaps locked by', words] as const),
    ['attempts', `${job.attempts} of ${job.maxAttempts}`],
    ['holds', job.deferCount],
    ['interruptions', job.interruptions > 0 ? job.interruptions : undefined],
    ['idempotency key', job.idempotencyKey ?? undefined],
    ['scheduled for', isOpen ? job.scheduledFor : undefined],
    ['deliver by', isOpen ? job.deliverBy : undefined],
    ['lease or ack deadline', isOpen ? (job.deadline ?? undefined) : undefined],
    ['last error', job.lastError ?? undefined],
    ['what to do', adviceOn(job.lastError) ?? undefined],
  ]);
}
