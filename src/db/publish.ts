import type { JobStatus } from '../domain/job.ts';
import type { Database } from './database.ts';

export interface PublishItem {
  accountId: string;
  queue: string;
  /** JSON source text (D26). */
  payload: string;
  key: string | null;
  delayMs: number;
  /** The plan's monthly attempts, or null. */
  limit: number | null;
  /** Id of the queue that the payload is encrypted for; undefined when it is not encrypted. */
  sealedFor?: string | undefined;
}

export type PublishAnswer =
  | { outcome: 'created' | 'existing'; id: string; status: JobStatus; createdAt: number; queueId: string }
  | { outcome: 'queue_not_found' | 'limit_reached' | 'retry' | 'unseal' }
  | { outcome: 'seal'; queueId: string };

export interface Periods {
  retentionMs: number;
  lifetimeMs: number;
}

/**
 * JSON rather than arrays: escaping happens in `JSON.stringify`, which is native, where the driver
 * escapes arrays character by character (docs/decisions/0002).
 */
const PUBLISH = {
  name: 'publish',
  text: `select jobferry_publish($1, $2 * interval '1 ms', $3 * interval '1 ms') as answers`,
};

/** Publishes a batch in one commit; answers in the order of the items. */
export async function publish(db: Database, items: PublishItem[], periods: Periods): Promise<PublishAnswer[]> {
  const rows = await db.query<{ answers: PublishAnswer[] }>(PUBLISH, [
    JSON.stringify(items),
    periods.retentionMs,
    periods.lifetimeMs,
  ]);
  return rows[0]?.answers ?? [];
}
