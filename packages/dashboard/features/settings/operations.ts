import { graphql, type ResultOf } from '../../../query/schema/graphql.ts';

/** Keys, members, sessions and the plan. */

export const Keys = graphql(`
  query Keys {
    account { apiKeys(includeRevoked: true) { id name prefix lastFour scopes queues createdAt createdBy expiresAt lastUsedAt revokedAt } }
  }
`);
export type ApiKeyRow = ResultOf<typeof Keys>['account']['apiKeys'][number];

export const PlanUse = graphql(`
  query PlanUse {
    account {
      id name
      plan { name includedAttempts monthlyAttempts maxAttempts maxDefers queues windowSeconds }
      usage { month attempts queues concurrency inFlight months { month } }
    }
  }
`);

/** The attempts of a month by queue. */
export const UsageOfQueues = graphql(`
  query UsageOfQueues($month: String!) {
    account {
      usage {
        byQueue(month: $month) {
          countedUntil otherQueues otherAttempts
          queues { queueId queueName attempts succeeded failed deferred }
        }
      }
    }
  }
`);

export const NewKey = graphql(`
  mutation NewKey($name: String, $scopes: [ApiKeyScope!], $queues: [String!], $expiresAt: DateTime) {
    createApiKey(name: $name, scopes: $scopes, queues: $queues, expiresAt: $expiresAt) {
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
