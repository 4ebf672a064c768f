import { settle } from './settle.ts';
import type { JobRow, Tables } from './tables.ts';

export interface AckAsked {
  id: string;
  accountId: string;
  attempt?: number;
}

/** `jobferry_ack`: completes the jobs whose ack is ordinary. */
export function ack(tables: Tables, asked: readonly AckAsked[]): { acked: object[] | null; coming: string[] | null } {
  const found = asked.flatMap(({ id, accountId, attempt }): JobRow[] => {
    const job = tables.jobs.get(id);
    const isMeant = job?.accountId === accountId && (attempt === undefined || job.attempts === attempt);
    return isMeant ? [job] : [];
  });
  const coming = found.filter(({ status, mode }) => status === 'processing' && mode === 'ack').map(({ id }) => id);
  const ordinary = found.filter(
    ({ id, queueId, status }) => status === 'awaiting_ack' && tables.queues.get(queueId)?.probeJobId !== id,
  );
  const items = ordinary.map((job) => {
    const { id, status: expected, token, attempts, deferCount, shortHolds, lastError, answerCode } = job;
    const kept = { id, expected, token: String(token), attempts, deferCount, shortHolds, lastError };
    const entry = { entryAttempt: attempts, entryStatus: 'success', entryError: null, entryCode: answerCode } as const;
    return { ...kept, ...entry, status: 'completed' as const, interruptions: 0, waitMs: 0, deadReason: null };
  });
  settle(tables, items);
  const acked = ordinary.map((job) => documentOf(tables, job));
  return { acked: acked.length > 0 ? acked : null, coming: coming.length > 0 ? coming : null };
}

function documentOf(tables: Tables, job: JobRow): object {
  const { id, queueId, attempts, maxAttempts, deferCount, key, lastError, scheduledFor, createdAt, completedAt } = job;
  const queue = tables.queues.get(queueId)?.name;
  const payload = job.history.length === 1 ? job.payload : null;
  const times = { scheduledFor, createdAt, completedAt };
  const code = job.history.at(-1)?.webhookStatusCode;
  return {
    id,
    queueId,
    queue,
    attempts,
    maxAttempts,
    deferCount,
    idempotencyKey: key,
    lastError,
    code,
    payload,
    ...times,
  };
}
