import type { Address } from '../db/connection/address.ts';
import type { Database } from '../db/connection/database.ts';
import type { Listener } from '../db/connection/notifications.ts';
import { lockHolders } from '../db/operator/locks.ts';
import { blindRole } from '../db/operator/snapshots.ts';
import { lackedKeys } from '../db/queues/needed-keys.ts';
import type { Sender } from '../delivery/send.ts';
import type { Periods } from '../domain/periods.ts';
import type { ChangeFeed } from '../live/live.ts';
import { repeat } from '../pacing/repeat.ts';
import { WakeNotifier } from '../services/wake-notifier.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Tracing } from '../telemetry/tracing/tracing.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { FollowedQueues } from './dispatch/followed-queues.ts';
import { Liveness } from './lease/liveness.ts';
import { LinkServer } from './link/server.ts';
import { Strays } from './link/strays.ts';

export interface DispatchingOptions {
  databaseUrl: Address;
  /** A listener that is not yet started. */
  listener: Listener;
  capacity: number;
  /** Where API processes hand over jobs; null if they cannot. Port 0 is any free one. */
  link: { host: string; port: number } | null;
  webhookTimeoutMs: number;
  periods: Periods;
  changes: ChangeFeed;
  tracing: Tracing | null;
  /** See `DispatcherOptions.mayDeliver`. */
  mayDeliver: (queueId: string) => boolean;
  /** See `DispatcherOptions.isTunnelled`. */
  isTunnelled: (queueId: string) => boolean;
}

/** Added to the webhook timeout. It covers the round trips to the database before and after a delivery. */
const LEASE_MARGIN_MS = 5000;

/**
 * From the end of a read to the next, in milliseconds: a change of another process is promised to be found within 2 s.
 */
const FOLLOW_MS = 1900;

/** How often a process that lacks a key looks whether it is still needed. */
const KEYS_MS = 5000;

/** Starts what claims and delivers: a dispatcher, and the lease lock that its claims need. */
export async function startDispatching(db: Database, sender: Sender, log: Logger, options: DispatchingOptions) {
  const { webhookTimeoutMs, capacity, changes, tracing, listener, mayDeliver, isTunnelled, periods } = options;
  const notifier = new WakeNotifier(db, log);
  let dispatcher: Dispatcher | null = null;
  let link: LinkServer | null = null;
  // The first delivery of the process follows the settings, too.
  const followed = new FollowedQueues(db);
  await followed.read();
  const liveness = await Liveness.start({
    url: options.databaseUrl,
    log,
    origin: db.origin,
    listener,
    onConfirmedAgain: () => {
      dispatcher?.resume();
      link?.resume();
    },
    isResting: () => dispatcher?.isResting === true,
  });
  const { workerId } = liveness;
  const leaseMs = webhookTimeoutMs + LEASE_MARGIN_MS;
  const strays = new Strays({
    db,
    log,
    changes,
    workerId,
    leaseMs,
    ids: () => dispatcher?.ids ?? new Set(),
    wake: (queueId) => dispatcher?.wakeSomewhere(queueId),
  });
  const dispatching = new Dispatcher({
    db,
    sender,
    log,
    changes,
    tracing,
    followed,
    workerId,
    capacity,
    leaseMs,
    locks: listener,
    mayDeliver,
    isTunnelled,
    mayClaim: () => liveness.confirmed,
    onWoken: () => {
      liveness.wakeUp();
      link?.resume();
    },
    mayStart: (claimedAt) => liveness.covers(claimedAt),
    stillHolds: (claimedAt) => liveness.stillHolds(claimedAt),
    onRefused: (claimedAt) => liveness.wasRefused(claimedAt),
    whoLocks: () => lockHolders(db.reading('locks')),
    blindRole: () => blindRole(db.reading('locks')),
    lackedKeys: () => lackedKeys(db, periods),
    wasReturned: (job) => strays.wasReturned(job),
    onUnsure: () => strays.expect(),
    passOn: (queueId) => notifier.add(queueId, 'change'),
  });
  dispatcher = dispatching;
  if (options.link !== null) {
    link = await LinkServer.start(options.link.host, options.link.port, {
      workerId,
      leaseMs,
      log,
      mayClaim: () => dispatching.newJobs.mayClaim() && !dispatching.isResting,
      freeSlots: () => dispatching.freeSlots,
      mayDeliver: (queueId) => mayDeliver(queueId) && !dispatching.missingKeys.has(queueId),
      adopt: (claim, startedAt) => dispatching.newJobs.arrived(claim, startedAt),
      onUnsure: () => strays.expect(),
    });
  }
  const reading = repeat(FOLLOW_MS, log, 'reading the settings of queues that a worker follows', () => followed.read());
  const keys = repeat(KEYS_MS, log, 'looking for keys that this process lacks', () => dispatching.missingKeys.look());
  return {
    liveness,
    dispatching,
    link: link?.address ?? null,
    followQueues: () => followed.read(),
    /** Stops claiming; resolves when all claimed jobs have been delivered and settled. */
    drain: async () => {
      await Promise.all([reading.stop(), keys.stop(), dispatching.drain(link?.stop())]);
      await strays.stop();
      await notifier.idle();
    },
  };
}
