import { graphql, type ResultOf } from '../graphql.ts';

/** Screens about Jobferry itself and the account. */

export const Activity = graphql(`
  query Activity(
    $action: String, $targetId: ID, $actor: String, $at: TimeRangeInput
    $first: Int, $after: String, $last: Int, $before: String
  ) {
    auditLog(
      action: $action, targetId: $targetId, actor: $actor, at: $at
      first: $first, after: $after, last: $last, before: $before
    ) {
      nodes { id at actor action targetType targetId targetName before after }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`);
export type ActivityEntry = ResultOf<typeof Activity>['auditLog']['nodes'][number];

export const System = graphql(`
  query System {
    server {
      environment version now retentionSeconds lifetimeSeconds webhookTimeoutSeconds
      lags { searchSeconds statisticsSeconds wakeUpSeconds }
    }
    instances { id role version startedAt lastSeenAt inFlight capacity }
    account { plan { windowSeconds } }
    queues(first: 100) { totalCount nodes { id name paused oldestDueSeconds } }
  }
`);
export type SystemData = ResultOf<typeof System>;

export const Keys = graphql(`
  query Keys {
    account { apiKeys(includeRevoked: true) { id name prefix lastFour createdAt lastUsedAt revokedAt } }
  }
`);
export type ApiKeyRow = ResultOf<typeof Keys>['account']['apiKeys'][number];

export const PlanUse = graphql(`
  query PlanUse {
    account {
      name
      plan { name includedAttempts monthlyAttempts maxAttempts maxDefers queues windowSeconds }
      usage { month attempts queues concurrency inFlight }
    }
  }
`);

export const NewKey = graphql(`
  mutation NewKey($name: String) {
    createApiKey(name: $name) {
      ... on CreateApiKeyPayload { key apiKey { id name } }
      ... on Error { message }
      ... on ValidationError { formErrors fieldErrors { field messages } }
    }
  }
`);

export const RevokeKey = graphql(`
  mutation RevokeKey($id: ID!) { revokeApiKey(id: $id) { ... on RevokeApiKeyPayload { id } ... on Error { message } } }
`);

export const Members = graphql(`
  query Members($first: Int, $after: String, $last: Int, $before: String) {
    members(first: $first, after: $after, last: $last, before: $before) {
      totalCount totalCountExact
      nodes { id name email subject role mayViewPayloads lastSeenAt sessionCount }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
    me { session { member { id } } }
  }
`);
export type MemberRow = ResultOf<typeof Members>['members']['nodes'][number];

export const Sessions = graphql(`
  query Sessions($first: Int, $after: String, $last: Int, $before: String) {
    sessions(first: $first, after: $after, last: $last, before: $before) {
      totalCount totalCountExact
      nodes { id label isCurrent userAgent createdAt lastUsedAt expiresAt member { id name } apiKey { id name } }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`);
export type SessionRow = ResultOf<typeof Sessions>['sessions']['nodes'][number];

export const EndSession = graphql(`
  mutation EndSession($id: ID!) { endSession(id: $id) { ... on EndSessionPayload { id } ... on Error { message } } }
`);

export const EndSessionsOfMember = graphql(`
  mutation EndSessionsOfMember($id: ID!) {
    endSessionsOfMember(id: $id) { ... on EndSessionsOfMemberPayload { ended } ... on Error { message } }
  }
`);
