import { graphql } from '../schema/graphql.ts';

/** Whose rows they are, and as of when. */
export const ExportHead = graphql(`
  query ExportHead { me { mayViewPayloads account { id name } } server { environment now } }
`);

export const ExportJobs = graphql(`
  query ExportJobs($filter: JobFilter, $order: JobOrder, $first: Int!, $after: String, $payloads: Boolean!) {
    rows: jobs(filter: $filter, orderBy: $order, first: $first, after: $after) {
      nodes {
        id queue { id name } state attemptsMade maxAttempts deferCount idempotencyKey createdAt scheduledFor startedAt endedAt
        waiting { reason earliestAt } lastError deadReason cancelledBy deadLetter { id replayedAt lastReplay { id state endedAt } }
        payloadText @include(if: $payloads)
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const ExportJobsTotal = graphql(`
  query ExportJobsTotal($filter: JobFilter) { rows: jobs(filter: $filter) { totalCount totalCountExact } }
`);

export const ExportDeadLetters = graphql(`
  query ExportDeadLetters($filter: DeadLetterFilter, $first: Int!, $after: String, $payloads: Boolean!) {
    rows: deadLetters(filter: $filter, first: $first, after: $after) {
      nodes {
        id deadAt reason error webhookStatusCode replayedAt replayedJob { id } lastReplay { id state endedAt } queue { id name }
        job { id attemptsMade createdAt payloadText @include(if: $payloads) }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const ExportDeadLettersTotal = graphql(`
  query ExportDeadLettersTotal($filter: DeadLetterFilter) {
    rows: deadLetters(filter: $filter) { totalCount totalCountExact }
  }
`);

export const ExportCauses = graphql(`
  query ExportCauses($filter: DeadLetterFilter, $by: ErrorGroupBy!) {
    groups: errorGroups(first: 100, filter: $filter, by: $by) {
      fingerprint reason error webhookStatusCode answer count firstSeen lastSeen queue { id name }
    }
  }
`);

export const ExportAttempts = graphql(`
  query ExportAttempts($filter: AttemptFilter, $first: Int!, $after: String) {
    rows: attempts(filter: $filter, first: $first, after: $after) {
      nodes {
        at startedAt attempt status durationMs waitMs webhookStatusCode error responseBody job { id queue { id name } }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const ExportAttemptsTotal = graphql(`
  query ExportAttemptsTotal($filter: AttemptFilter) { rows: attempts(filter: $filter) { totalCount totalCountExact } }
`);

export const ExportActivity = graphql(`
  query ExportActivity(
    $groups: [AuditGroup!], $action: String, $targetId: ID, $actor: String, $at: TimeRangeInput, $first: Int!, $after: String
  ) {
    rows: auditLog(
      groups: $groups, action: $action, targetId: $targetId, actor: $actor, at: $at, first: $first, after: $after
    ) {
      nodes { id at actor action targetType targetId targetName before after }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const ExportActivityTotal = graphql(`
  query ExportActivityTotal(
    $groups: [AuditGroup!], $action: String, $targetId: ID, $actor: String, $at: TimeRangeInput
  ) {
    rows: auditLog(groups: $groups, action: $action, targetId: $targetId, actor: $actor, at: $at) { totalCount totalCountExact }
  }
`);

export const ExportQueues = graphql(`
  query ExportQueues($search: String, $tags: [String!], $receivers: [String!], $first: Int!, $after: String) {
    rows: queues(search: $search, tags: $tags, receivers: $receivers, first: $first, after: $after) {
      nodes {
        id name tags webhookUrl mode createdAt pause { since by } hold { until reason } concurrency inFlight rateLimitMax
        rateLimitWindow oldestDueSeconds depth { due scheduled retrying held processing awaitingAck }
        health { attempts failed deferred duration { p50 p95 } warnings { warning } }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const ExportQueuesTotal = graphql(`
  query ExportQueuesTotal($search: String, $tags: [String!], $receivers: [String!]) {
    rows: queues(search: $search, tags: $tags, receivers: $receivers) { totalCount totalCountExact }
  }
`);
