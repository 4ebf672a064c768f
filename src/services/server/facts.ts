import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { type ServiceLags, serviceLags } from '../../db/insight/lags.ts';
import { type ReleaseRun, releaseRuns } from '../../db/insight/releases.ts';
import { blindRole, snapshotHolders } from '../../db/operator/snapshots.ts';
import { operatorsAccountId } from '../../db/operator-account.ts';
import type { Account } from '../../domain/account.ts';
import { OLD_SNAPSHOT, type SnapshotHolder } from '../../domain/doctor-snapshots.ts';
import type { Context } from '../context.ts';
import { shared } from '../shared.ts';

export type { ServiceLags } from '../../db/insight/lags.ts';
export type { ReleaseRun } from '../../db/insight/releases.ts';

export interface ServerFacts {
  /** Version of Jobferry. */
  version: string;
  /** Value of NODE_ENV. */
  environment: string;
  /** The database's clock, which decides every due time. */
  now: Date;
  /** How far that clock is ahead of the clock of this process. */
  clockOffsetSeconds: number;
  retentionSeconds: number;
  lifetimeSeconds: number;
  webhookTimeoutSeconds: number;
  /** Names of the templates of queues. */
  templates: string[];
}

/** Transactions and the like that keep dead rows, as `doctor` has them. */
export interface HeldSnapshots {
  /** Oldest first. */
  holders: SnapshotHolder[];
  /** Whether the database role sees sessions of other roles. */
  seesAll: boolean;
}

/** Several people may look at one page that is refreshed every 5 s. */
const HOLDERS_REMEMBERED_MS = 2000;
/** They change with a release only, and several screens of all accounts show them. */
const RUNS_REMEMBERED_MS = 2000;

/** Facts about the service that the API shows to clients. */
export function createServerFacts(
  { db, periods, server, templates }: Pick<Context, 'db' | 'periods' | 'server' | 'templates'>,
  reported = OLD_SNAPSHOT.reported,
) {
  // From the primary: sessions of a replica are others.
  const recentHolders = shared(
    HOLDERS_REMEMBERED_MS,
    async (): Promise<HeldSnapshots> => ({
      holders: await snapshotHolders(db, reported),
      seesAll: (await blindRole(db)) === null,
    }),
    () => '',
  );
  const recentRuns = shared(
    RUNS_REMEMBERED_MS,
    () => releaseRuns(db),
    () => '',
  );
  return {
    /**
     * Returns how far the background work of the service is behind; null for an account that is not the first.
     * @throws JobferryError `unavailable`
     */
    lags(account: Account): Promise<ServiceLags | null> {
      return serviceLags(db.reading(account.id), account.id, periods.retentionMs);
    },

    /**
     * Returns what has kept dead rows for a minute or longer; null for an account that is not the operator's.
     * @throws JobferryError `unavailable`
     */
    async snapshots(account: Account): Promise<HeldSnapshots | null> {
      return (await operatorsAccountId(db.reading(account.id))) === account.id ? recentHolders() : null;
    },

    /** Returns the releases that began to run in a range of time, newest first. @throws JobferryError `unavailable` */
    async releases({
      from,
      to,
    }: {
      from?: Date | null | undefined;
      to?: Date | null | undefined;
    }): Promise<ReleaseRun[]> {
      const runs = await recentRuns();
      return runs.filter(({ at }) => (from == null || at >= from) && (to == null || at <= to));
    },

    /** Returns the version, the clock and the periods of this service. */
    async facts(): Promise<ServerFacts> {
      const now = await recentDatabaseTime(db);
      return {
        version: server.version,
        environment: server.environment,
        now: new Date(now),
        clockOffsetSeconds: (now - Date.now()) / 1000,
        retentionSeconds: periods.retentionMs / 1000,
        lifetimeSeconds: periods.lifetimeMs / 1000,
        webhookTimeoutSeconds: server.webhookTimeoutMs / 1000,
        templates: Object.keys(templates),
      };
    },
  };
}
