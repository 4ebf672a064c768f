import type { Periods } from '../../domain/periods.ts';
import type { AckTimeoutAction, BackoffType, QueueMode } from '../../domain/queue-settings.ts';
import type { ClaimRow } from './claim.ts';
import type { PublishAnswer, PublishItem } from './publish-items.ts';

/** Jobs that a worker has claimed in the statement that stored them. */
export interface NewClaim {
  /** Database time in milliseconds. */
  now: number;
  /** The jobs as a claim would return them, with stored texts. */
  rows: ClaimRow[];
  /** Ids of the queues that have no free slot now. */
  full: string[];
}

/** As `jobferry_publish` gives them. */
export interface StoredNewClaims {
  claimedAt: number;
  /** All these claims have it. A 64-bit number. */
  token: string;
  queues: readonly QueueOfNewJobs[];
}

interface QueueOfNewJobs {
  id: string;
  webhookUrl: string;
  signingSecret: string;
  nextSigningSecret: string | null;
  maxAttempts: number;
  backoffType: BackoffType;
  backoffDelay: number;
  mode: QueueMode;
  maxDefers: number;
  ackTimeout: number;
  ackTimeoutAction: AckTimeoutAction;
  /** Whether the queue has no free slot now. */
  isFull: boolean;
}

interface Published {
  items: readonly PublishItem[];
  /** In the order of the items. Those of claimed jobs are marked. */
  answers: readonly PublishAnswer[];
  periods: Periods;
}

/**
 * Builds the claimed jobs from what was published: the statement does not return what its caller has. Never throws: the
 * jobs are committed, and after an error the batch would be published again.
 */
export function newClaimOf(claims: StoredNewClaims, { items, answers, periods }: Published): NewClaim {
  const queues = new Map(claims.queues.map((queue) => [queue.id, queue]));
  const full = claims.queues.filter(({ isFull }) => isFull).map(({ id }) => id);
  const claimed: NewClaim = { now: claims.claimedAt, rows: [], full };
  for (const [index, item] of items.entries()) {
    const answer = answers[index];
    if (item.claimable !== true || answer?.outcome !== 'created') continue;
    const queue = queues.get(answer.queueId);
    if (queue === undefined) continue;
    answer.isClaimed = true;
    const { id, createdAt } = answer;
    claimed.rows.push(rowOf({ item, id, createdAt, queue, claims, periods }));
  }
  return claimed;
}

interface Claimed {
  item: PublishItem;
  id: string;
  createdAt: number;
  queue: QueueOfNewJobs;
  claims: StoredNewClaims;
  periods: Periods;
}

function rowOf({ item, id, createdAt, queue, claims, periods }: Claimed): ClaimRow {
  const published = new Date(createdAt);
  return {
    id,
    queue_id: queue.id,
    account_id: item.accountId,
    queue_name: item.queue,
    claim_token: claims.token,
    claimed_at: new Date(claims.claimedAt),
    wait_ms: null,
    queue_deleted: false,
    webhook_url: queue.webhookUrl,
    signing_secret: queue.signingSecret,
    next_signing_secret: queue.nextSigningSecret,
    payload: item.payload,
    trace_context: item.trace ?? null,
    created_at: published,
    scheduled_for: published,
    deliver_by: new Date(createdAt + periods.lifetimeMs),
    last_error: null,
    attempts: 1,
    max_attempts: queue.maxAttempts,
    defer_count: 0,
    short_holds: 0,
    interruptions: 0,
    backoff_type: queue.backoffType,
    backoff_delay: queue.backoffDelay,
    mode: queue.mode,
    max_defers: queue.maxDefers,
    ack_timeout: queue.ackTimeout,
    ack_timeout_action: queue.ackTimeoutAction,
    is_probe: false,
  };
}
