import { graphql, type ResultOf } from '../../../query/schema/graphql.ts';

export const System = graphql(`
  query System {
    server {
      environment version now retentionSeconds lifetimeSeconds webhookTimeoutSeconds
      lags { searchSeconds statisticsSeconds wakeUpSeconds }
      snapshots { seesAll holders { message } }
    }
    instances { id role version startedAt lastSeenAt inFlight capacity }
    releases { version before at }
    account { plan { windowSeconds } }
    queues(first: 100) { totalCount nodes { name paused oldestDueSeconds } }
  }
`);
export type SystemData = ResultOf<typeof System>;
