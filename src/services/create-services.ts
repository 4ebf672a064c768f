import type { FairTurns } from '../db/fair-turns.ts';
import { SearchBudget } from '../db/search-budget.ts';
import { createAuthenticate } from './authenticate.ts';
import { createBulkOperations } from './bulk-actions.ts';
import type { Context } from './context.ts';
import type { Dashboard } from './dashboard.ts';
import { createDeadLetterSearch } from './dead-letter-search.ts';
import type { Account, Services } from './index.ts';
import { createJobBatches } from './job-batches.ts';
import { createJobOperations } from './job-operations.ts';
import { createKeyOperations } from './key-operations.ts';
import { createListJobs } from './list-jobs.ts';
import { createManageQueues } from './manage-queues.ts';
import type { Operations } from './operations.ts';
import { createPublishJob } from './publish-job.ts';
import { createQueueInsight } from './queue-insight.ts';
import { createQueueOperations } from './queue-operations.ts';
import { createReplay } from './replay.ts';
import { createReportOutcome } from './report-outcome.ts';
import { createJobSearch } from './search-jobs.ts';
import { createServerInsight } from './server-insight.ts';
import { sharingStatistics } from './shared-statistics.ts';
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
