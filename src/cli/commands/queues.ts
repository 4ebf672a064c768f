import type { Database } from '../../db/connection/database.ts';
import { findAccount } from '../../db/operator/accounts.ts';
import { lockHolders } from '../../db/operator/locks.ts';
import {
  listQueues,
  MAX_COUNTED,
  type QueueJobs,
  type QueueSummary,
  type ShownQueue,
} from '../../db/operator/queues.ts';
import { blindRole } from '../../db/operator/snapshots.ts';
import { endHolds, type FoundQueue, pauseQueues, resumeQueues } from '../../db/queues/several.ts';
import { type Author, OPERATOR } from '../../domain/audit.ts';
import { breakerOpenSince, holdOf } from '../../domain/breaker.ts';
import { locksInWords } from '../../domain/doctor-locks.ts';
import { allAwaitReports, REPORTS_ADVICE, slotsInUse } from '../../domain/queue-slots.ts';
import { deliveringTo } from '../../domain/several-queues.ts';
import { CommandError, command, type Result } from './command.ts';
import { idOf, MAX_ROWS, nextPage, PAGE, pageOf, withDatabase } from './database.ts';
import { type Done, QUEUES_ARGUMENT, queuesOf, RECEIVER_OPTION, resultOf, sentenceOf } from './many-queues.ts';
import { type Column, facts, printable, table, time } from './output.ts';
import { changeThroughApi, checkThroughApi, listThroughApi, showThroughApi } from './queue-api.ts';
import { breakerFacts, stateText } from './queue-breaker.ts';
import { QUEUE_CHECK } from './queue-check.ts';
import { assertOneAccount, isWorkerRunning, NO_WORKER, OF_QUEUE, queueOf } from './queue-of.ts';
import { throughApi } from './through-api.ts';

const QUEUE = { name: 'QUEUE', what: 'the id or the name of the queue' };

const COLUMNS: readonly Column<QueueSummary>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'ACCOUNT', of: ({ accountId }) => accountId },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: (queue) => stateAt(queue, new Date()) },
  { title: 'IN FLIGHT', of: ({ inFlight, concurrency }) => `${inFlight}/${concurrency}`, isNumber: true },
  { title: 'OLDEST DUE', of: ({ oldestDueAt }) => oldestDueAt },
];

const list = command({
  name: 'queue list',
  summary: 'List live queues, oldest first, with what stops them.',
  options: {
    account: { value: 'ID', help: 'only those of this account' },
    name: { value: 'TEXT', help: 'only those whose name contains this text, in upper or lower case' },
    ...PAGE,
  },
  run: ({ options }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const page = pageOf(options);
      const account = options.account === undefined ? null : idOf(options.account, 'account');
      const queues = await listQueues(db, account, { ...page, name: options.name ?? null });
      const text = table(COLUMNS, queues, 'No queues.') + nextPage(queues, page);
      return { json: queues, text: (await isWorkerRunning(db)) ? text : `${text}\n\n${NO_WORKER}.` };
    }),
});

const show = command({
  name: 'queue show',
  summary: 'Show a queue: its settings, its jobs, and what stops it.',
  options: OF_QUEUE,
  argument: QUEUE,
  run: ({ argument, options: { account } }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const shown = await queueOf(db, argument, account);
      const workerRunning = await isWorkerRunning(db);
      const locks = isUnexplained(shown) ? await lockHolders(db) : [];
      const hidden = isUnexplained(shown) ? await blindRole(db) : null;
      return {
        json: { ...shown, workerRunning, locks },
        text: describe(shown, workerRunning, locksInWords(locks, hidden)),
      };
    }),
});

const OF_QUEUES = {
  account: {
    value: 'ID',
    help: 'the account of the queues, if several accounts have the name, or queues that deliver to the host',
  },
  receiver: RECEIVER_OPTION,
} as const;

const pause = command({
  name: 'queue pause',
  summary: 'Pause a queue: publishes are accepted, and no delivery starts until it is resumed.',
  options: OF_QUEUES,
  argument: QUEUES_ARGUMENT,
  run: (given, environment) =>
    withDatabase(environment, ({ db }) =>
      change(db, given, pauseQueues, ({ name }, changed) => sentenceOf('pause', name, changed)),
    ),
});

const resume = command({
  name: 'queue resume',
  summary: 'End the pause of a queue. Its waiting jobs get their full delivery lifetime again.',
  options: OF_QUEUES,
  argument: QUEUES_ARGUMENT,
  run: (given, environment) =>
    withDatabase(environment, ({ db }, { jobLifetimeMs: lifetimeMs }) =>
      change(
        db,
        given,
        async (_db, by, ids) => {
          const account = await findAccount(db, by.accountId);
          if (account?.suspendedAt == null) return resumeQueues(db, by, ids, { lifetimeMs });
          throw new CommandError(`account ${by.accountId} is suspended, so its queues stay paused: use account resume`);
        },
        ({ name }, changed) => sentenceOf('resume', name, changed),
      ),
    ),
});

const releaseHold = command({
  name: 'queue release-hold',
  summary:
    'End the hold of a queue. Up to 1000 of its held jobs become due at once; if its breaker is open, one of them probes the receiver.',
  options: OF_QUEUES,
  argument: QUEUES_ARGUMENT,
  run: (given, environment) =>
    withDatabase(environment, ({ db }) =>
      change(
        ...([db, given, endHolds] as const),
        ({ name, held }, changed) => sentenceOf('endHold', name, changed) + (changed ? '' : ownHolds(held)),
      ),
    ),
});

interface GivenQueues {
  argument: string;
  options: { account: string | undefined; receiver: string | undefined };
}

/** Changes the chosen queues, those of an account at once. What was done before an error is in its message. */
async function change(
  db: Database,
  { argument, options }: GivenQueues,
  work: (db: Database, by: Author, ids: readonly string[]) => Promise<FoundQueue[]>,
  text: (queue: Chosen, changed: boolean) => string,
): Promise<Result> {
  const queues = await chosen(db, argument, options);
  const done: Done[] = [];
  for (const accountId of new Set(queues.map(({ by }) => by.accountId))) {
    const own = queues.filter(({ by }) => by.accountId === accountId);
    const ids = own.map(({ id }) => id);
    const found = await work(db, { accountId, actor: OPERATOR }, ids).catch((error: unknown) => {
      if (error instanceof Error) error.message = [error.message, ...done.map((one) => one.text)].join('\n');
      throw error;
    });
    const changed = new Set(found.filter((queue) => queue.changed).map(({ id }) => id));
    done.push(
      ...own.map((one) => ({ id: one.id, changed: changed.has(one.id), text: text(one, changed.has(one.id)) })),
    );
  }
  return resultOf(done, queues.length === 1 && options.receiver === undefined);
}

/** The receiver of a single job can ask for a delay, too. The queue goes on meanwhile. */
function ownHolds(held: number): string {
  if (held === 0) return '';
  const jobs = held === 1 ? '1 of its jobs waits' : `${atMost(held)} of its jobs wait`;
  return (
    ` But ${jobs} for a delay that the receiver requested for single jobs` +
    ' (see: job list --status pending). To run them now: "Run now" in the dashboard, or the GraphQL mutation runJobsNow.'
  );
}

interface Chosen {
  id: string;
  name: string;
  by: { accountId: string; actor: typeof OPERATOR };
  held: number;
}

/**
 * The queues of the argument, or the live queues of a receiver in one account.
 * @throws UsageError, also for a receiver of several accounts; CommandError if there is none
 */
async function chosen(
  db: Database,
  argument: string,
  { account, receiver }: GivenQueues['options'],
): Promise<Chosen[]> {
  const texts = queuesOf(argument, receiver);
  if (receiver === undefined) return Promise.all(texts.map((text) => liveQueue(db, text, account)));
  const accountId = account === undefined ? null : idOf(account, 'account');
  const all: QueueSummary[] = [];
  for (let after: string | null = null; ; after = all.at(-1)?.id ?? null) {
    const rows: QueueSummary[] = await listQueues(db, accountId, { after, limit: MAX_ROWS });
    all.push(...rows);
    if (rows.length < MAX_ROWS) break;
  }
  const found = deliveringTo(receiver, all);
  if (accountId === null) await assertOneAccount(db, receiver, found);
  return found.map(({ id, name, accountId: owner }) => {
    return { id, name: printable(name), by: { accountId: owner, actor: OPERATOR }, held: 0 };
  });
}

/** @throws CommandError */
async function liveQueue(db: Database, argument: string, account: string | undefined): Promise<Chosen> {
  const { queue, held } = await queueOf(db, argument, account);
  if (queue.deletedAt !== null) throw new CommandError(`queue ${queue.id} was deleted at ${time(queue.deletedAt)}`);
  return { id: queue.id, name: printable(queue.name), by: { accountId: queue.accountId, actor: OPERATOR }, held };
}

/** Jobs that are due for longer are looked into. */
const LATE_MS = 10_000;

/** Whether jobs have been due for a while, and nothing of the queue itself keeps them. */
function isUnexplained({ queue, now, oldestDueAt, inFlight }: ShownQueue): boolean {
  const isStopped = queue.pausedAt !== null || queue.holdUntil !== null || queue.deletedAt !== null;
  return (
    !isStopped &&
    inFlight < queue.concurrency &&
    oldestDueAt !== null &&
    now.getTime() - oldestDueAt.getTime() > LATE_MS
  );
}

function describe(
  { queue, now, oldestDueAt, oldestDueId, nextDueAt, ...jobs }: ShownQueue,
  workerRunning: boolean,
  locks: readonly string[],
) {
  const count = (name: keyof QueueJobs) => atMost(jobs[name]);
  const isHeld = holdOf(queue, now) !== null;
  const { rateLimitMax, rateLimitWindow, nextSigningSecretAt: rotation } = queue;
  const slots = { inFlight: jobs.inFlight, awaitingAck: jobs.awaitingAck, concurrency: queue.concurrency };
  const state = stateAt({ ...queue, oldestDueAt }, now);
  return facts([
    ['id', queue.id],
    ['name', queue.name],
    ['account', queue.accountId],
    ['webhook', queue.webhookUrl],
    ['mode', queue.mode],
    ['state', queue.deletedAt === null ? state : `deleted at ${time(queue.deletedAt)}`],
    ['workers', workerRunning ? undefined : NO_WORKER],
    ...locks.map((words) => ['perhaps locked by', words] as const),
    ['paused since', queue.pausedAt ?? undefined],
    ['paused by', queue.pausedBy ?? undefined],
    ['held since', isHeld ? queue.holdSince : undefined],
    ['held by job', isHeld ? queue.holdJobId : undefined],
    ['reason of the hold', isHeld ? queue.holdReason : undefined],
    ['probe in flight', isHeld ? queue.probeJobId : undefined],
    ...breakerFacts(breakerOf(queue)),
    ['due', count('due')],
    ['oldest due', oldestDueAt === null ? null : `${time(oldestDueAt)}, job ${oldestDueId}`],
    ['waiting for later', count('later')],
    ['- after a failure', jobs.backoff > 0 ? count('backoff') : undefined],
    ['- after a defer or back-pressure', jobs.held > 0 ? count('held') : undefined],
    ['next of them due', nextDueAt ?? undefined],
    ['in flight', slotsInUse(slots)],
    ['what to do', jobs.due > 0 && allAwaitReports(slots) ? REPORTS_ADVICE : undefined],
    ['dead', count('dead')],
    ['rate limit', rateLimitMax === null ? null : `${rateLimitMax} in ${rateLimitWindow} s`],
    ['attempts of a job', queue.maxAttempts],
    ['back-off', `${queue.backoffType}, ${queue.backoffDelay} s`],
    ['payloads encrypted', queue.payloadsEncrypted],
    ['Standard Webhooks', queue.standardWebhooks],
    ['next signing secret', rotation !== null && rotation > now ? `takes over at ${time(rotation)}` : undefined],
    ['created', queue.createdAt],
  ]);
}

function stateAt(
  {
    oldestDueAt,
    ...queue
  }: Pick<QueueSummary, 'pausedAt' | 'holdUntil' | 'probeJobId' | 'breakerOpenedAt' | 'oldestDueAt'>,
  now: Date,
): string {
  return stateText({
    isPaused: queue.pausedAt !== null,
    hold: holdOf(queue, now),
    holdUntil: queue.holdUntil,
    oldestDueMs: oldestDueAt === null ? null : now.getTime() - oldestDueAt.getTime(),
  });
}

function breakerOf({ breakerFailures: failures, breakerSeconds: seconds, ...queue }: ShownQueue['queue']) {
  if (failures === null && seconds === null) return null;
  return {
    failures,
    seconds,
    openedAt: breakerOpenSince(queue),
    failedProbes: queue.breakerProbes,
    nextProbeAt: queue.holdUntil,
  };
}

function atMost(counted: number): string {
  return counted > MAX_COUNTED ? `more than ${MAX_COUNTED}` : String(counted);
}

export const QUEUE_COMMANDS = [
  throughApi(list, listThroughApi),
  throughApi(show, showThroughApi),
  throughApi(QUEUE_CHECK, checkThroughApi),
  throughApi(pause, changeThroughApi('pause')),
  throughApi(resume, changeThroughApi('resume')),
  throughApi(releaseHold, changeThroughApi('endHold')),
];
