import type { FairTurns } from '../db/connection/fair-turns.ts';
import { SearchBudget } from '../db/search/budget.ts';
import type { Account } from '../domain/account.ts';
import { createAuthenticate } from './accounts/authenticate.ts';
import { createKeys } from './accounts/keys.ts';
import { createUsage } from './accounts/usage.ts';
import { createAlertRules } from './alerts/rules.ts';
import { createAuditLists } from './audit-lists.ts';
import { createBulkRequests } from './bulk/request.ts';
import type { Context } from './context.ts';
import { createDismissals } from './dead-letters/dismissals.ts';
import { createDeadLetterList } from './dead-letters/list.ts';
import { createReplay } from './dead-letters/replay.ts';
import { createDeadLetterSearch } from './dead-letters/search.ts';
import { explainUnavailable } from './explain-unavailable.ts';
import { createQueueInsight } from './insight/queues.ts';
import { createReceiverInsight } from './insight/receivers.ts';
import { sharingStatistics } from './insight/shared-statistics.ts';
import { createAttemptSearch } from './jobs/attempts.ts';
import { createJobBatches } from './jobs/batches.ts';
import { createJobChanges } from './jobs/change.ts';
import { createExtendAck } from './jobs/extend-ack.ts';
import { createJobReads } from './jobs/list.ts';
import { createPublish } from './jobs/publish.ts';
import { createPublishMany } from './jobs/publish-many.ts';
import { createReports } from './jobs/report.ts';
import { createReportUrls } from './jobs/report-urls.ts';
import { createJobRowReads } from './jobs/rows.ts';
import { createJobSearch, type SearchRequest } from './jobs/search.ts';
import { createReceiverChecks } from './queues/check-receiver.ts';
import { createQueueChanges, createQueueReads } from './queues/manage.ts';
import { createQueueOperations } from './queues/operations.ts';
import { createSeveralQueues } from './queues/several.ts';
import { createTunnelChanges } from './queues/tunnels.ts';
import { createSavedViews } from './saved-views.ts';
import { createServerFacts } from './server/facts.ts';
import { createSessionChanges, createSessions } from './sign-in/sessions.ts';

export type Services = ReturnType<typeof createServices>;

/** The services with the limits of one request. */
export type ServicesOfRequest = ReturnType<Services['ofRequest']>;

/**
 * All use cases by noun, for REST and GraphQL. Every method is limited to the given account: ids of other accounts are
 * not found. An expected refusal is thrown as a `JobferryError`.
 */
export function createServices(context: Context) {
  const { changingTurns } = context.db;
  const batches = createJobBatches(context);
  const { publishAudited, ...publishing } = explainUnavailable(createPublish(context), 'publish');
  const services = {
    jobs: {
      ...publishing,
      ...createJobReads(context, batches),
      ...createJobRowReads(context),
      ...explainUnavailable(createReports(context, batches)),
      ...createJobSearch(context),
      ...createAttemptSearch(context),
      ...allInTurn(changingTurns, createJobChanges(context)),
      // Publishing has turns of its own. An extension takes its turn itself, after it has waited for its delivery.
      ...explainUnavailable(createPublishMany({ ...publishing, publishAudited })),
      ...explainUnavailable(createExtendAck(context, batches)),
    },
    queues: {
      ...createQueueReads(context),
      ...allInTurn(changingTurns, createQueueChanges(context)),
      ...allInTurn(changingTurns, createQueueOperations(context)),
      ...allInTurn(changingTurns, createSeveralQueues(context)),
      // Takes its turn itself: it waits for the receiver afterwards.
      ...explainUnavailable(createReceiverChecks(context)),
      // Answers are as frequent as deliveries.
      ...createTunnelChanges(context),
    },
    deadLetters: {
      ...createDeadLetterList(context),
      ...createDeadLetterSearch(context),
      ...allInTurn(changingTurns, createReplay(context)),
      ...allInTurn(changingTurns, createDismissals(context)),
    },
    bulk: allInTurn(changingTurns, createBulkRequests(context)),
    alerts: allInTurn(changingTurns, createAlertRules(context)),
    savedViews: allInTurn(changingTurns, createSavedViews(context)),
    accounts: {
      ...createAuthenticate(context),
      ...createUsage(context),
      ...allInTurn(changingTurns, createKeys(context)),
    },
    sessions: {
      ...createSessions(context),
      ...allInTurn(changingTurns, createSessionChanges(context)),
    },
    audit: createAuditLists(context),
    insight: sharingStatistics(createQueueInsight(context)),
    receivers: createReceiverInsight(context),
    server: createServerFacts(context),
    clockTravel: context.clockTravel ?? null,
    reportUrls: context.reportUrl == null ? null : createReportUrls(context, context.reportUrl),
  };

  return {
    ...services,

    /**
     * Returns the same services for one request. All its searches together may keep the database busy for two seconds.
     * They end when the client disconnects, which aborts the signal.
     */
    ofRequest(signal: AbortSignal): typeof services {
      const request: SearchRequest = { budget: new SearchBudget(signal), scopes: new Map() };
      return {
        ...services,
        jobs: { ...services.jobs, ...createJobSearch(context, request), ...createAttemptSearch(context, request) },
        deadLetters: { ...services.deadLetters, ...createDeadLetterSearch(context, request) },
      };
    },
  };
}

type Changes = Readonly<Record<string, (account: Account, ...input: unknown[]) => Promise<unknown>>>;

/** Makes the changes of each account take turns, so that they cannot take all connections or delay publishes. */
function allInTurn<T extends object>(turns: FairTurns, changes: T): T {
  const inTurn = Object.entries(changes as Changes).map(([name, change]) => {
    const turned: Changes[string] = (account, ...input) => turns.run(account.id, () => change(account, ...input));
    return [name, turned] as const;
  });
  return explainUnavailable(Object.fromEntries(inTurn) as T);
}
