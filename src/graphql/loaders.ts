import DataLoader from 'dataloader';
import type { PrismaClient } from '../db/connection/prisma.ts';
import type { Attempt, AuditEntry, DeadLetter, Dismissal } from '../db/generated/client.ts';
import type { Account } from '../domain/account.ts';
import { JobferryError } from '../domain/errors.ts';
import type { JobFilter } from '../domain/job-filter.ts';
import type { Position } from '../domain/page.ts';
import type { WarningStarts } from '../domain/warning-starts.ts';
import type { ErrorGroup } from '../services/dead-letters/search.ts';
import type { IgnoredNames, ShownWaiting } from '../services/insight/queues.ts';
import type { JobRow } from '../services/jobs/rows.ts';
import type { StoredText } from '../services/jobs/stored-text.ts';
import type { ServerFacts } from '../services/server/facts.ts';
import type { ServicesOfRequest } from '../services/services.ts';
import type { AnswerTexts } from './answer-texts.ts';
import { cancelKey, cancelledBy } from './jobs/cancelled-by.ts';
import { createQueueLoaders, type QueueLoaders } from './queue-loaders.ts';
import type { Selection } from './selection.ts';

export type { QueueRow } from '../services/insight/queues.ts';
export type { JobRow } from '../services/jobs/rows.ts';

export interface Loaders extends QueueLoaders {
  job: DataLoader<string, JobRow | null>;
  /** Jobs that are loaded next are read together with what is selected of them, which the other loaders then have. */
  selectOfJobs(selection: Selection): void;
  /** The text is null if it cannot be decrypted. */
  payload: DataLoader<string, { text: string | null } | null>;
  /**
   * Sizes of payloads and at least as many of their first characters as the key asks for. The key is the id of the job,
   * a colon, and a number of characters; 0 for the size only.
   */
  payloadHead: DataLoader<string, { bytes: number; preview: string | null } | null>;
  /** The stored answer of the webhook to jobs that await a report. */
  receiptBody: DataLoader<string, string | null>;
  attempts: DataLoader<string, Attempt[]>;
  /** A single attempt; the key is the id of the job, a colon, and the ordinal. */
  attempt: DataLoader<string, Attempt | null>;
  /** The last attempt of a job. */
  lastAttempt: DataLoader<string, Attempt | null>;
  replays: DataLoader<string, string[]>;
  deadLetter: DataLoader<string, DeadLetter | null>;
  deadLetterOfJob: DataLoader<string, DeadLetter | null>;
  /** The dismissal of an error group, by its fingerprint. */
  dismissal: DataLoader<string, Dismissal | null>;
  /** The newest change of settings of a queue in the hour up to a moment. */
  changeBefore: DataLoader<TargetAt, AuditEntry | null, string>;
  /** When the present warnings of queues began. */
  warningStarts: DataLoader<string, WarningStarts | null>;
  /** When the last attempt of queues ended. */
  lastDelivery: DataLoader<string, Date | null>;
  waiting: DataLoader<string, ShownWaiting | null>;
  /** Names that publishes have and the API ignores, by the name of the queue. */
  ignoredNames: DataLoader<string, IgnoredNames | null>;
  /** Number of jobs that are due before a pending job; null if there are more than 1000. */
  ahead: DataLoader<string, number | null>;
  /** The actor that cancelled a job; the key is the id of the job, a colon, and the time in milliseconds. */
  cancelledBy: DataLoader<string, string | null>;
  /** Number of sessions of a member that have not ended. */
  sessionsOfMember: DataLoader<string, number>;
  /** The database clock and the periods, read once. */
  server(): Promise<ServerFacts>;
  newestJobs(filter: JobFilter, limit: number): DataLoader<string, Position[]>;
  /** The largest groups of a queue that were not replayed. */
  errorGroups: DataLoader<GroupsOfQueue, ErrorGroup[], string>;
  /** Keeps the last attempts that were read with error groups. */
  keepAttemptsOf(groups: readonly ErrorGroup[]): Promise<void>;
}

interface TargetAt {
  targetId: string;
  at: Date;
}

interface GroupsOfQueue {
  queueId: string;
  limit: number;
  /** Whether the last attempts of the samples are read with the groups. */
  withAttempts: boolean;
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
 * Reads the rows that many items of one response need in one statement for all items. Rows are read by account, so ids
 * of other accounts are not found.
 */
export function createLoaders({ prisma, stored, services, texts }: Sources, account: Account): Loaders {
  const accountId = account.id;
  let facts: Promise<ServerFacts> | null = null;
  const server = () => {
    facts ??= services.server.facts();
    return facts;
  };
  const byId = <Row extends { id: string }>(read: (ids: string[]) => Promise<Row[]>) =>
    batched((ids) => read(ids).then((rows) => new Map(rows.map((row) => [row.id, row]))), null);
  const ofQueues = createQueueLoaders({ services, server }, account);
  const deadLetterOfJob = batched(async (ids) => {
    const rows = await prisma.deadLetter.findMany({ where: { jobId: { in: ids }, queue: { accountId } } });
    return new Map(rows.map((row) => [row.jobId, row]));
  }, null);
  const waiting = batched((ids) => services.insight.waitings(account, ids), null);
  const readable = (rows: readonly Attempt[]) => stored.answers(accountId, rows);
  const lastAttempt = batched<Attempt, null>(async (ids) => {
    const rows = await readable(await services.jobs.lastAttempts(account, ids));
    return new Map(rows.map((row) => [row.jobId, row]));
  }, null);
  const keepAttemptsOf = async (groups: readonly ErrorGroup[]) => {
    const rows = await readable(groups.flatMap((group) => group.lastAttempt ?? []));
    const byJob = new Map(rows.map((row) => [row.jobId, row]));
    for (const { sample } of groups) lastAttempt.prime(sample.jobId, byJob.get(sample.jobId) ?? null);
  };
  const cancelled = batched<string, null>((keys) => cancelledBy(prisma, accountId, keys), null);
  const nothing = { queue: false, deadLetter: false, waiting: false, cancelledBy: false };
  const selected = { ...nothing };
  return {
    ...ofQueues,
    job: byId(async (ids) => {
      const parts = { ...selected };
      Object.assign(selected, nothing);
      const rows = await services.jobs.rows(account, ids, parts);
      for (const row of rows.queues) ofQueues.queue.prime(row.id, row);
      for (const row of rows.deadLetters) deadLetterOfJob.prime(row.jobId, row);
      const actors = new Map(rows.cancellations.map(({ id, actor }) => [id, actor]));
      for (const { id, status, deadAt } of rows.jobs) {
        if (parts.deadLetter && status === 'dead') deadLetterOfJob.prime(id, null);
        if (parts.waiting && status === 'pending') waiting.prime(id, rows.waiting.get(id) ?? null);
        if (actors.has(id) && deadAt !== null) cancelled.prime(cancelKey({ id }, deadAt), actors.get(id) ?? null);
      }
      return rows.jobs;
    }),
    selectOfJobs(selection) {
      selected.queue ||= selection.has('queue');
      selected.deadLetter ||= selection.has('deadLetter');
      selected.waiting ||= selection.has('waiting');
      selected.cancelledBy ||= selection.has('cancelledBy');
    },
    payload: batched<{ text: string | null }, null>(async (ids) => {
      const rows = await stored.payloads(accountId, ids, texts.left);
      return new Map(
        rows.map(({ id, payload }) => [
          id,
          payload === null || typeof payload === 'string' ? { text: payload } : texts.refusal(),
        ]),
      );
    }, null),
    payloadHead: batched(async (keys) => {
      const wanted = keys.map((key) => ({ key, id: key.slice(0, 24), characters: Number(key.slice(25)) }));
      // One statement for previews of all lengths.
      const longest = Math.max(...wanted.map(({ characters }) => characters));
      const heads = await stored.heads(accountId, [...new Set(wanted.map(({ id }) => id))], longest);
      const byJob = new Map(heads.map((head) => [head.id, head]));
      return new Map(
        wanted.flatMap(({ key, id }) => {
          const head = byJob.get(id);
          return head === undefined ? [] : [[key, head] as const];
        }),
      );
    }, null),
    receiptBody: batched<string, null>(async (ids) => {
      const where = { id: { in: ids }, accountId, status: 'awaiting_ack' };
      const rows = await prisma.job.findMany({ where, select: { id: true, queueId: true, answerBody: true } });
      const answers = rows.map(({ id, queueId, answerBody }) => ({ jobId: id, queueId, responseBody: answerBody }));
      const found = await stored.answers(accountId, answers);
      return new Map(
        found.flatMap(({ jobId, responseBody }) => (responseBody === null ? [] : [[jobId, responseBody] as const])),
      );
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
      return grouped(await readable(rows), (row) => row.jobId);
    }, []),
    attempt: batched<Attempt, null>(async (keys) => {
      const pairs = keys.map((key) => ({ jobId: key.slice(0, 24), ordinal: Number(key.slice(25)) }));
      const rows = await prisma.attempt.findMany({ where: { OR: pairs, job: { accountId } } });
      return new Map((await readable(rows)).map((row) => [`${row.jobId}:${row.ordinal}`, row]));
    }, null),
    lastAttempt,
    keepAttemptsOf,
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
    deadLetterOfJob,
    dismissal: batched(async (fingerprints) => {
      const rows = await prisma.dismissal.findMany({ where: { accountId, fingerprint: { in: fingerprints } } });
      return new Map(rows.map((row) => [row.fingerprint, row]));
    }, null),
    changeBefore: new DataLoader(
      async (targets: readonly TargetAt[]) => services.audit.changesBefore(account, targets),
      { cacheKeyFn: ({ targetId, at }) => `${targetId} ${at.getTime()}` },
    ),
    warningStarts: batched((ids) => services.insight.warningStarts(account, ids), null),
    lastDelivery: batched((ids) => services.insight.lastDeliveries(account, ids), null),
    waiting,
    ignoredNames: batched((names) => services.insight.ignoredNames(account, names), null),
    ahead: batched<number, null>(async (ids) => {
      const counts = await services.insight.aheads(account, ids);
      return new Map([...counts].filter((entry): entry is [string, number] => entry[1] !== null));
    }, null),
    cancelledBy: cancelled,
    sessionsOfMember: batched<number, number>(async (ids) => {
      const where = { accountId, memberId: { in: ids }, expiresAt: { gt: (await server()).now } };
      const groups = await prisma.session.groupBy({ by: ['memberId'], where, _count: true });
      return new Map(groups.map(({ memberId, _count }) => [memberId ?? '', _count]));
    }, 0),
    server,
    newestJobs: perArguments((filter, limit) =>
      batched((ids) => services.jobs.newest(account, ids, filter, limit), []),
    ),
    // The largest of several lengths contains the others.
    errorGroups: new DataLoader(
      async (keys: readonly GroupsOfQueue[]) => {
        const queueIds = [...new Set(keys.map(({ queueId }) => queueId))];
        const limit = Math.max(...keys.map((key) => key.limit));
        const options = { limit, byAnswer: false, withAttempts: keys.some((key) => key.withAttempts) };
        const groups = await services.deadLetters.errorGroups(account, { replayed: false, queueIds }, options);
        if (options.withAttempts) await keepAttemptsOf([...groups.values()].flat());
        return keys.map((key) => (groups.get(key.queueId) ?? []).slice(0, key.limit));
      },
      { cacheKeyFn: ({ queueId, limit }) => `${queueId} ${limit}` },
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
function perArguments<Arguments extends unknown[], Loader>(
  create: (...args: Arguments) => Loader,
): (...args: Arguments) => Loader {
  const loaders = new Map<string, Loader>();
  return (...args) => {
    const key = JSON.stringify(args);
    const present = loaders.get(key) ?? create(...args);
    loaders.set(key, present);
    return present;
  };
}
