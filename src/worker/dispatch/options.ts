import type { Database } from '../../db/connection/database.ts';
import type { ClaimedJob } from '../../db/delivery/claim.ts';
import type { FollowedSettings } from '../../db/queues/followed.ts';
import type { Sender } from '../../delivery/send.ts';
import type { LockHolder } from '../../domain/doctor-locks.ts';
import type { ChangeFeed } from '../../live/live.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Tracing } from '../../telemetry/tracing/tracing.ts';
import type { Locks } from '../maintenance/recover.ts';
import type { KeysElsewhere } from './missing-keys.ts';

export interface DispatcherOptions {
  db: Database;
  sender: Sender;
  log: Logger;
  changes: ChangeFeed;
  /** Null or undefined if this process makes no spans. */
  tracing?: Tracing | null;
  /** Settings of the queues that deliveries follow; undefined if no queue has any. */
  followed?: { of(queueId: string): FollowedSettings };
  /**
   * Whether a tunnel takes the deliveries of the queue in this process: its answers say nothing about the webhook.
   * Undefined: no queue has a tunnel here.
   */
  isTunnelled?: ((queueId: string) => boolean) | undefined;
  workerId: number;
  /** Deliveries that may run at once in this process. */
  capacity: number;
  leaseMs: number;
  /** False while other processes may consider this one dead: a claim could then deliver a job twice at once. */
  mayClaim: () => boolean;
  /** Called when the process is woken from a rest: `mayClaim` becomes true when the server has confirmed the lock. */
  onWoken?: () => void;
  /**
   * Whether this process may claim jobs of the queue: for a queue with tunnels, only a process where one of them
   * begins. Undefined: always.
   */
  mayDeliver?: ((queueId: string) => boolean) | undefined;
  /** Whether the deliveries of a claim may start; `claimedAt` is the `performance.now()` at which it was sent. */
  mayStart: (claimedAt: number) => Promise<boolean>;
  /**
   * Whether a request may still be written: no other process can have taken back a claim that was sent at `claimedAt`.
   */
  stillHolds: (claimedAt: number) => boolean;
  /** Locks of this process: of all workers, one empties a deleted queue. */
  locks: Locks;
  /** The database refused an outcome although the lease of its claim had not ended. */
  onRefused: (claimedAt: number) => void;
  whoLocks?: () => Promise<readonly LockHolder[]>;
  /** Reads the database role if it cannot see sessions of other roles. */
  blindRole?: () => Promise<string | null>;
  /** Reads which keys this process lacks. */
  lackedKeys?: () => Promise<KeysElsewhere>;
  /** Whether a claim was given back while its job was on its way: another worker may deliver it. */
  wasReturned?: (job: ClaimedJob) => boolean;
  /** Called when a publish of this process has failed that may have claimed. */
  onUnsure?: () => void;
  /** Tells the other processes of a queue that may have work, because this one is about to end or lacks its key. */
  passOn?: (queueId: string) => void;
}
