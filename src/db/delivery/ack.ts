import type { JobDocument } from '../../domain/job.ts';
import type { Database, Statement } from '../connection/database.ts';

/** An ack of one job. */
export interface AckRequest {
  id: string;
  accountId: string;
  /** The attempt that it is about; undefined: the one that is in flight. */
  attempt: number | undefined;
}

/** A job that an ack has completed. */
export interface AckedJob {
  queueId: string;
  /** The job as it is now; null if it has to be read, because it is large. */
  document: JobDocument | null;
}

/**
 * `coming`: the delivery has not been settled yet. `unusual`: nothing was changed, and the report has to be applied as
 * a transition.
 */
export type AckResult = AckedJob | 'coming' | 'unusual';

/** As `jobferry_ack` returns it; times are in milliseconds. */
interface AckedJson {
  id: string;
  queueId: string;
  queue: string;
  attempts: number;
  maxAttempts: number;
  deferCount: number;
  idempotencyKey: string | null;
  lastError: string | null;
  code: number | null;
  payload: string | null;
  scheduledFor: number;
  createdAt: number;
  completedAt: number;
}

/** The most acks in a statement. */
export const MAX_ACKS = 200;
/** Payloads of more characters are read apart, so that no statement returns more than a mebibyte. */
const MAX_BYTES = 5000;

const ACK: Statement = { name: 'ack', text: 'select acked, coming from jobferry_ack($1, $2)' };

/**
 * Completes, in one commit, those of the jobs whose ack is ordinary. Of several acks of a job only the first may be.
 */
export async function ackJobs(db: Database, acks: readonly AckRequest[]): Promise<AckResult[]> {
  const firsts = new Map<string, AckRequest>();
  for (const ack of acks) if (!firsts.has(ack.id)) firsts.set(ack.id, ack);
  const row = await db.one<{ acked: AckedJson[] | null; coming: string[] | null }>(ACK, [
    JSON.stringify([...firsts.values()]),
    MAX_BYTES,
  ]);
  const results = new Map<string, AckResult>(row?.coming?.map((id) => [id, 'coming']));
  for (const job of row?.acked ?? []) results.set(job.id, { queueId: job.queueId, document: documentOf(db, job) });
  return acks.map((ack) => (firsts.get(ack.id) === ack ? (results.get(ack.id) ?? 'unusual') : 'unusual'));
}

function documentOf({ cipher }: Database, { queueId, code, payload, ...job }: AckedJson): JobDocument | null {
  if (payload === null) return null;
  const completedAt = new Date(job.completedAt);
  const { attempts: attempt } = job;
  return {
    ...job,
    status: 'completed',
    payload: cipher.decrypt(`payload:${queueId}`, payload),
    scheduledFor: new Date(job.scheduledFor),
    history: [{ attempt, status: 'success', error: null, webhookStatusCode: code, timestamp: completedAt }],
    createdAt: new Date(job.createdAt),
    completedAt,
  };
}
