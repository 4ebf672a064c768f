import DataLoader from 'dataloader';
import type { PrismaClient } from '../db/connection/prisma.ts';
import type { Attempt, DeadLetter, Dismissal, Job, Queue } from '../db/generated/client.ts';
import type { Account } from '../domain/account.ts';
import { JobferryError } from '../domain/errors.ts';
import type { QueueHealth, WarningStarts } from '../domain/health.ts';
import type { DeadLetterFilter, JobFilter } from '../domain/job-filter.ts';
import type { Position } from '../domain/page.ts';
import type { TimelineInput, TimelinePoint } from '../domain/statistics.ts';
import type { ErrorGroup } from '../services/dead-letters/search.ts';
import type { QueueDepth, QueueUse, ShownWaiting } from '../services/insight/queues.ts';
import type { StoredText } from '../services/jobs/stored-text.ts';
import type { ServerFacts } from '../services/server/facts.ts';
import type { ServicesOfRequest } from '../services/services.ts';
import type { AnswerTexts } from './answer-texts.ts';
import { cancelledBy } from './jobs/cancelled-by.ts';

/** A job without its payload and its webhook answer, which can be large and are read only if selected. */
export type JobRow = Omit<Job, 'payload' | 'answerBody'>;
/** A queue without its secrets, which GraphQL never returns from a stored row. */
export type QueueRow = Omit<Queue, 'signingSecret' | 'nextSigningSecret'>;

export interface Loaders {
  queue: DataLoader<string, QueueRow | null>;
  job: DataLoader<string, JobRow | null>;
  payload: DataLoader<string, string | null>;
  /** Sizes and first characters of payloads. */
  payloadHead(characters: number): DataLoader<string, { bytes: number; preview: string | null } | null>;
  /** The stored answer of the webhook to jobs that await a report. */
  receiptBody: DataLoader<string, string | null>;
  attempts: DataLoader<string, Attempt[]>;
  /** A single attempt; the key is the id of the job, a colon, and the ordinal. */
  attempt: DataLoader<string, Attempt | null>;
  replays: DataLoader<string, string[]>;
  deadLetter: DataLoader<string, DeadLetter | null>;
  deadLetterOfJob: DataLoader<string, DeadLetter | null>;
  /** The dismissal of an error group, by its fingerprint. */
  dismissal: DataLoader<string, Dismissal | null>;
  depth: DataLoader<string, QueueDepth | null>;
  use: DataLoader<string, QueueUse | null>;
  health: DataLoader<string, QueueHealth | null>;
  /** When the present warnings of queues began. */
  warningStarts: DataLoader<string, WarningStarts | null>;
  /** When the last attempt of queues ended. */
  lastDelivery: DataLoader<string, Date | null>;
  waiting: DataLoader<string, ShownWaiting | null>;
  /** Number of jobs that are due before a pending job; null if there are more than 1000. */
  ahead: DataLoader<string, number | null>;
  /** The actor that cancelled a job; the key is the id of the job, a colon, and the time in milliseconds. */
  cancelledBy: DataLoader<string, string | null>;
  /** The database clock and the periods, read once. */
  server(): Promise<ServerFacts>;
  timeline(input: TimelineInput): DataLoader<string, TimelinePoint[]>;
  newestJobs(filter: JobFilter, limit: number): DataLoader<string, Position[]>;
  errorGroups(filter: DeadLetterFilter, limit: number): DataLoader<string, ErrorGroup[]>;
}

interface Sources {
  prisma: PrismaClient;
  stored: StoredText;
  services: ServicesOfRequest;
  texts: AnswerTexts;
}

/** Maximum number of attempts in one statement. A single job may have a thousand. */
const MAX_ATTEMPTS = 5000;

/**
 * Reads the rows that many items of one response need in one statement for all items. Rows are read by account, so ids of
 * other accounts are not found.
 */
export function createLoaders({ prisma, stored, services, texts }: Sources, account: Account): Loaders {
  const accountId = account.id;
  let server: Promise<ServerFacts> | null = null;
  const byId = <Row extends { id: string }>(read: (ids: string[]) => Promise<Row[]>) =>
    batched((ids) => read(ids).then((rows) => new Map(rows.map((row) => [row.id, row]))), null);
  return {
    queue: byId((ids) =>
      prisma.queue.findMany({
        where: { id: { in: ids }, accountId },
        omit: { signingSecret: true, nextSigningSecret: true },
      }),
    ),
    job: byId((ids) =>
      prisma.job.findMany({ where: { id: { in: ids }, accountId }, omit: { payload: true, answerBody: true } }),
    ),
    payload: batched<string, null>(async (ids) => {
      const rows = await stored.payloads(accountId, ids, texts.left);
      return new Map(rows.map(({ id, payload }) => [id, payload ?? texts.refusal()]));
    }, null),
    payloadHead: perArgument((characters) =>
      batched(
        async (ids) => new Map((await stored.heads(accountId, ids, characters)).map((row) => [row.id, row])),
        null,
      ),
    ),
    receiptBody: batched<string, null>(async (ids) => {
      const where = { id: { in: ids }, accountId, status: 'awaiting_ack' };
      const rows = await prisma.job.findMany({ where, select: { id: true, queueId: true, answerBody: true } });
      const readable = rows.map(
        ({ id, queueId, answerBody }) => [id, stored.answer({ queueId, responseBody: answerBody })] as const,
      );
      return new Map(readable.filter((entry): entry is readonly [string, string] => entry[1] !== null));
    }, null),
    attempts: batched(async (ids) => {
      const rows = await prisma.attempt.findMany({
        where: { jobId: { in: ids } },
        orderBy: { ordinal: 'asc' },
        take: MAX_ATTEMPTS + 1,
      });
      if (rows.length > MAX_ATTEMPTS) {
        throw new JobferryError(
          'invalid_request',
          `these jobs have more than ${MAX_ATTEMPTS} attempts: request fewer jobs`,
        );
      }
      const readable = rows.map((row) => ({ ...row, responseBody: stored.answer(row) }));
      return grouped(readable, (row) => row.jobId);
    }, []),
    attempt: batched<Attempt, null>(async (keys) => {
      const pairs = keys.map((key) => ({ jobId: key.slice(0, 24), ordinal: Number(key.slice(25)) }));
      const rows = await prisma.attempt.findMany({ where: { OR: pairs, job: { accountId } } });
      return new Map(
        rows.map((row) => [`${row.jobId}:${row.ordinal}`, { ...row, responseBody: stored.answer(row) }] as const),
      );
    }, null),
    replays: batched(async (ids) => {
      const rows = await prisma.job.findMany({
        where: { replayOf: { in: ids }, accountId },
        select: { id: true, replayOf: true },
        orderBy: { id: 'asc' },
      });
      const groups = grouped(rows, (row) => row.replayOf ?? '');
      return new Map([...groups].map(([id, jobs]) => [id, jobs.map((job) => job.id)]));
    }, []),
    deadLetter: byId((ids) => prisma.deadLetter.findMany({ where: { id: { in: ids }, queue: { accountId } } })),
    deadLetterOfJob: batched(async (ids) => {
      const rows = await prisma.deadLetter.findMany({ where: { jobId: { in: ids }, queue: { accountId } } });
      return new Map(rows.map((row) => [row.jobId, row]));
    }, null),
    dismissal: batched(async (fingerprints) => {
      const rows = await prisma.dismissal.findMany({ where: { accountId, fingerprint: { in: fingerprints } } });
      return new Map(rows.map((row) => [row.fingerprint, row]));
    }, null),
    depth: batched((ids) => services.insight.depths(account, ids), null),
    use: batched((ids) => services.insight.uses(account, ids), null),
    health: batched((ids) => services.insight.healths(account, ids), null),
    warningStarts: batched((ids) => services.insight.warningStarts(account, ids), null),
    lastDelivery: batched((ids) => services.insight.lastDeliveries(account, ids), null),
    waiting: batched((ids) => services.insight.waitings(account, ids), null),
    ahead: batched<number, null>(async (ids) => {
      const counts = await services.insight.aheads(account, ids);
      return new Map([...counts].filter((entry): entry is [string, number] => entry[1] !== null));
    }, null),
    cancelledBy: batched<string, null>((keys) => cancelledBy(prisma, accountId, keys), null),
    server: () => {
      server ??= services.server.facts();
      return server;
    },
    timeline: perArgument((input) => batched((ids) => services.insight.timelines(account, ids, input), [])),
    newestJobs: perArguments((filter, limit) =>
      batched((ids) => services.jobs.newest(account, ids, filter, limit), []),
    ),
    errorGroups: perArguments((filter, limit) =>
      batched(
        (ids) => services.deadLetters.errorGroups(account, { ...filter, queueIds: ids }, { limit, byAnswer: false }),
        [],
      ),
    ),
  };
}

function batched<Value, Missing>(
  read: (ids: string[]) => Promise<Map<string, Value | Error>>,
  missing: Missing,
): DataLoader<string, Value | Missing> {
  return new DataLoader<string, Value | Missing>(async (ids) => {
    const found = await read([...ids]);
    return ids.map((id) => found.get(id) ?? missing);
  });
}

function grouped<Row>(rows: Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

/** Creates one loader per set of arguments. Fields with the same arguments share a statement. */
function perArgument<Argument, Loader>(create: (argument: Argument) => Loader): (argument: Argument) => Loader {
  const loaders = new Map<string, Loader>();
  return (argument) => {
    const key = JSON.stringify(argument);
    const present = loaders.get(key) ?? create(argument);
    loaders.set(key, present);
    return present;
  };
}

function perArguments<First, Second, Loader>(
  create: (first: First, second: Second) => Loader,
): (first: First, second: Second) => Loader {
  const get = perArgument(([first, second]: [First, Second]) => create(first, second));
  return (first, second) => get([first, second]);
}
