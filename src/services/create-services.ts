import type { FairTurns } from '../db/connection/fair-turns.ts';
import { SearchBudget } from '../db/search/budget.ts';
import { createAuthenticate } from './accounts/authenticate.ts';
import { createKeyOperations } from './accounts/keys.ts';
import { createBulkOperations } from './bulk/request.ts';
import type { Context } from './context.ts';
import type { Dashboard } from './dashboard.ts';
import { createReplay } from './dead-letters/replay.ts';
import { createDeadLetterSearch } from './dead-letters/search.ts';
import type { Account, Services } from './index.ts';
import { createJobBatches } from './jobs/batches.ts';
import { createListJobs } from './jobs/list.ts';
import { createJobOperations } from './jobs/operations.ts';
import { createPublishJob } from './jobs/publish.ts';
import { createReportOutcome } from './jobs/report.ts';
import { createJobSearch } from './jobs/search.ts';
import type { Operations } from './operations.ts';
import { createQueueInsight } from './queues/insight.ts';
import { createManageQueues } from './queues/manage.ts';
import { createQueueOperations } from './queues/operations.ts';
import { sharingStatistics } from './queues/shared-statistics.ts';
import { createServerInsight } from './server/insight.ts';
import { toldWhatWasStored } from './told-what-was-stored.ts';

export interface UseCases {
  /** What REST and GraphQL share: the spec. */
  services: Services;
  /** What GraphQL has beyond it, to read and to change. */
  dashboard: Dashboard;
  operations: Operations;
}

/** All use cases on one context: what the shells call. */
export function createUseCases(context: Context): UseCases {
  const jobs = createJobBatches(context);
  const publishJob = toldWhatWasStored(createPublishJob(context), 'publish');
  const { createQueue, updateQueue, deleteQueue, ...queues } = createManageQueues(context);
  const { publishJobs, extendAck, ...jobOperations } = createJobOperations(context, publishJob, jobs);
  const inTurn = <T extends object>(writes: T) => allInTurn(context.db.changingTurns, writes);
  return {
    services: {
      ...createAuthenticate(context),
      publishJob,
      ...createListJobs(context, jobs),
      ...queues,
      ...inTurn({ createQueue, updateQueue, deleteQueue }),
      ...inTurn(createReplay(context)),
      ...allTold(createReportOutcome(context, jobs)),
    },
    dashboard: {
      ...createJobSearch(context),
      ...createDeadLetterSearch(context),
      ...sharingStatistics(createQueueInsight(context)),
      ...createServerInsight(context),
      searchesOf: (signal) => {
        const request = { budget: new SearchBudget(signal) };
        return { ...createJobSearch(context, request), ...createDeadLetterSearch(context, request) };
      },
    },
    operations: {
      ...inTurn(createQueueOperations(context)),
      ...inTurn(jobOperations),
      // Jobs that are published have turns of their own, and the extension waits for its delivery before it takes one.
      ...allTold({ publishJobs, extendAck }),
      ...inTurn(createKeyOperations(context)),
      ...inTurn(createBulkOperations(context)),
    },
  };
}

type Writes = Readonly<Record<string, (account: Account, ...input: unknown[]) => Promise<unknown>>>;

/** What one account changes waits for its turn: it must not take all connections, or wait in front of publishes. */
function allInTurn<T extends object>(turns: FairTurns, writes: T): T {
  const inTurn = Object.entries(writes as Writes).map(([name, write]) => {
    const turned: Writes[string] = (account, ...input) => turns.run(account.id, () => write(account, ...input));
    return [name, turned] as const;
  });
  return allTold(Object.fromEntries(inTurn) as T);
}

function allTold<T extends object>(writes: T): T {
  const told = Object.entries(writes as Writes).map(([name, write]) => [name, toldWhatWasStored(write)] as const);
  return Object.fromEntries(told) as T;
}
