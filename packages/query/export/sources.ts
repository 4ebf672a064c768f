import type { Operation, ResultOf } from '../schema/graphql.ts';
import type { Cell } from './format.ts';
import * as operations from './operations.ts';

/** The lists that can be exported, each with its operations and its columns: all that is seen, ids, and exact times. */

interface Page<Row> {
  nodes: readonly Row[];
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

interface Total {
  totalCount: number;
  totalCountExact: boolean;
}

export interface Source {
  operation: Operation<unknown, unknown>;
  pageOf: (result: unknown) => Page<unknown>;
  /** Null if the number of rows is known with the rows. */
  total: Operation<{ rows: Total }, unknown> | null;
  columns: readonly (readonly [name: string, of: (row: unknown) => Cell])[];
  /** One more column, if payloads are wanted. */
  payload?: (row: unknown) => Cell;
  order: string;
  /** Rows of one request, and of a list that has no pages. */
  size: number;
  hasPages: boolean;
}

interface Parts<Row> {
  columns: Readonly<Record<string, (row: Row) => Cell | undefined>>;
  payload?: (row: Row) => string | null | undefined;
  order?: string;
}

/** The casts are safe: rows come from the operation that their columns are typed by. */
function paged<Row, V, W>(
  operation: Operation<{ rows: Page<Row> }, V>,
  total: Operation<{ rows: Total }, W>,
  { columns, payload, order = 'newest first' }: Parts<Row>,
): Source {
  const json = (row: unknown): Cell => {
    const text = payload?.(row as Row) ?? null;
    return text === null ? null : { json: text };
  };
  return {
    operation: operation as unknown as Source['operation'],
    total: total as unknown as Source['total'],
    pageOf: (result) => (result as { rows: Page<unknown> }).rows,
    columns: cellsOf(columns),
    ...(payload !== undefined && { payload: json }),
    order,
    size: 100,
    hasPages: true,
  };
}

const cellsOf = <Row>(columns: Parts<Row>['columns']) =>
  Object.entries(columns).map(([name, of]) => [name, (row: unknown) => of(row as Row) ?? null] as const);

const jsonOf = (value: unknown): Cell => (value == null ? null : { json: JSON.stringify(value) });

export const JOBS = paged(operations.ExportJobs, operations.ExportJobsTotal, {
  columns: {
    id: (job) => job.id,
    queue: (job) => job.queue.name,
    queueId: (job) => job.queue.id,
    state: (job) => job.state,
    attempts: (job) => job.attemptsMade,
    maxAttempts: (job) => job.maxAttempts,
    holds: (job) => job.deferCount,
    idempotencyKey: (job) => job.idempotencyKey,
    createdAt: (job) => job.createdAt,
    scheduledFor: (job) => job.scheduledFor,
    startedAt: (job) => job.startedAt,
    endedAt: (job) => job.endedAt,
    waitsFor: (job) => job.waiting?.reason,
    earliestAt: (job) => job.waiting?.earliestAt,
    lastError: (job) => job.lastError,
    deadReason: (job) => job.deadReason,
    cancelledBy: (job) => job.cancelledBy,
    deadLetterId: (job) => job.deadLetter?.id,
    replayedAt: (job) => job.deadLetter?.replayedAt,
    lastReplayId: (job) => job.deadLetter?.lastReplay?.id,
    lastReplayState: (job) => job.deadLetter?.lastReplay?.state,
    lastReplayEndedAt: (job) => job.deadLetter?.lastReplay?.endedAt,
  },
  payload: (job) => job.payloadText,
});

export const DEAD_LETTERS = paged(operations.ExportDeadLetters, operations.ExportDeadLettersTotal, {
  columns: {
    id: (letter) => letter.id,
    jobId: (letter) => letter.job?.id,
    queue: (letter) => letter.queue?.name,
    queueId: (letter) => letter.queue?.id,
    deadAt: (letter) => letter.deadAt,
    reason: (letter) => letter.reason,
    error: (letter) => letter.error,
    webhookStatusCode: (letter) => letter.webhookStatusCode,
    attempts: (letter) => letter.job?.attemptsMade,
    createdAt: (letter) => letter.job?.createdAt,
    replayedAt: (letter) => letter.replayedAt,
    replayedJobId: (letter) => letter.replayedJob?.id,
    lastReplayId: (letter) => letter.lastReplay?.id,
    lastReplayState: (letter) => letter.lastReplay?.state,
    lastReplayEndedAt: (letter) => letter.lastReplay?.endedAt,
  },
  payload: (letter) => letter.job?.payloadText,
});

export const ATTEMPTS = paged(operations.ExportAttempts, operations.ExportAttemptsTotal, {
  columns: {
    endedAt: (attempt) => attempt.at,
    startedAt: (attempt) => attempt.startedAt,
    jobId: (attempt) => attempt.job?.id,
    queue: (attempt) => attempt.job?.queue.name,
    queueId: (attempt) => attempt.job?.queue.id,
    attempt: (attempt) => attempt.attempt,
    status: (attempt) => attempt.status,
    durationMs: (attempt) => attempt.durationMs,
    waitMs: (attempt) => attempt.waitMs,
    webhookStatusCode: (attempt) => attempt.webhookStatusCode,
    error: (attempt) => attempt.error,
    answer: (attempt) => attempt.responseBody,
  },
});

export const ACTIVITY = paged(operations.ExportActivity, operations.ExportActivityTotal, {
  columns: {
    id: (entry) => entry.id,
    at: (entry) => entry.at,
    actor: (entry) => entry.actor,
    action: (entry) => entry.action,
    targetType: (entry) => entry.targetType,
    targetId: (entry) => entry.targetId,
    targetName: (entry) => entry.targetName,
    before: (entry) => jsonOf(entry.before),
    after: (entry) => jsonOf(entry.after),
  },
});

export const QUEUES = paged(operations.ExportQueues, operations.ExportQueuesTotal, {
  order: 'oldest first',
  columns: {
    id: (queue) => queue.id,
    name: (queue) => queue.name,
    tags: (queue) => queue.tags.join(' '),
    webhookUrl: (queue) => queue.webhookUrl,
    mode: (queue) => queue.mode,
    createdAt: (queue) => queue.createdAt,
    pausedSince: (queue) => queue.pause?.since,
    pausedBy: (queue) => queue.pause?.by,
    heldUntil: (queue) => queue.hold?.until,
    holdReason: (queue) => queue.hold?.reason,
    concurrency: (queue) => queue.concurrency,
    inFlight: (queue) => queue.inFlight,
    rateLimitMax: (queue) => queue.rateLimitMax,
    rateLimitWindowSeconds: (queue) => queue.rateLimitWindow,
    oldestDueSeconds: (queue) => queue.oldestDueSeconds,
    due: (queue) => queue.depth?.due,
    scheduled: (queue) => queue.depth?.scheduled,
    retrying: (queue) => queue.depth?.retrying,
    held: (queue) => queue.depth?.held,
    processing: (queue) => queue.depth?.processing,
    awaitingAck: (queue) => queue.depth?.awaitingAck,
    attemptsOfHour: (queue) => queue.health?.attempts,
    failedOfHour: (queue) => queue.health?.failed,
    deferredOfHour: (queue) => queue.health?.deferred,
    p50Ms: (queue) => queue.health?.duration?.p50,
    p95Ms: (queue) => queue.health?.duration?.p95,
    warnings: (queue) => queue.health?.warnings.map(({ warning }) => warning).join(' '),
  },
});

type CauseRow = ResultOf<typeof operations.ExportCauses>['groups'][number];

/** The API returns the hundred largest groups, without pages. */
const CAUSES: Source = {
  operation: operations.ExportCauses as unknown as Source['operation'],
  total: null,
  pageOf: (result) => ({
    nodes: (result as ResultOf<typeof operations.ExportCauses>).groups,
    pageInfo: { endCursor: null, hasNextPage: false },
  }),
  columns: cellsOf<CauseRow>({
    fingerprint: (cause) => cause.fingerprint,
    queue: (cause) => cause.queue?.name,
    queueId: (cause) => cause.queue?.id,
    reason: (cause) => cause.reason,
    error: (cause) => cause.error,
    webhookStatusCode: (cause) => cause.webhookStatusCode,
    answer: (cause) => cause.answer,
    deadLetters: (cause) => cause.count,
    firstSeen: (cause) => cause.firstSeen,
    lastSeen: (cause) => cause.lastSeen,
  }),
  order: 'largest first',
  size: 100,
  hasPages: false,
};

export const SOURCES = {
  jobs: JOBS,
  'dead-letters': DEAD_LETTERS,
  causes: CAUSES,
  attempts: ATTEMPTS,
  activity: ACTIVITY,
  queues: QUEUES,
} as const;
export type Exported = keyof typeof SOURCES;
