import type { JobStatus } from '../../domain/job.ts';

export interface PublishItem {
  accountId: string;
  queue: string;
  /** JSON source text (D26). */
  payload: string;
  key: string | null;
  delayMs: number;
  /** The plan's monthly attempts; null without a limit. */
  limit: number | null;
  /** Id of the queue that the payload is encrypted for; undefined when it is not encrypted. */
  encryptedFor?: string | undefined;
  /** Trace context that is stored with the job; null or undefined without one. */
  trace?: string | null | undefined;
  /** Whether the worker of `AtOnce` may claim the job. */
  claimable?: boolean | undefined;
}

export type PublishAnswer =
  | { outcome: 'created'; id: string; status: JobStatus; createdAt: number; queueId: string; isClaimed: boolean }
  | ExistingJob
  | { outcome: 'queue_not_found' | 'limit_reached' | 'retry' | 'must_not_encrypt' }
  | { outcome: 'must_encrypt'; queueId: string };

/** The job that was created with the same idempotency key before. */
export interface ExistingJob extends EarlierPayload {
  outcome: 'existing';
  id: string;
  status: JobStatus;
  createdAt: number;
  queueId: string;
}

export interface EarlierPayload {
  /** Whether the payload of the earlier job is another one; null if that needs `stored`. */
  differs: boolean | null;
  /**
   * The payload of the earlier job as it is stored, if one of the two is encrypted and their sizes do not differ
   * already.
   */
  stored: string | null;
}
