import { graphql } from '../../../query/schema/graphql.ts';

/** QueryState on every screen, every 30 s and after a reconnect. */
export const Shell = graphql(`
  query Shell {
    me { label apiKeyId role mayViewPayloads person { name } account { name } }
    server { environment version now retentionSeconds lifetimeSeconds webhookTimeoutSeconds }
    instances { role version lastSeenAt }
    running: bulkActions(first: 10, status: RUNNING) { nodes { __typename id } }
    open: deadLetters(first: 1, filter: { replayed: false }) { totalCount totalCountExact }
    queues(first: 1) { totalCount }
    firing: alerts(first: 1, state: FIRING) { totalCount totalCountExact }
  }
`);

/** Filters of dead letters and of attempts have ids of queues, people have names. */
export const QueueOfName = graphql(`query QueueOfName($name: String!) { queue(name: $name) { id } }`);
