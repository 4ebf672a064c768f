import { type FragmentOf, graphql } from './graphql.ts';

/**
 * The live stream sends these fields of each kind of object. Every other operation that shows such an object uses the
 * fragment too, so the stream keeps it current. `__typename` and `id` say which object it is.
 */

export const QueueNow = graphql(`
  fragment QueueNow on Queue {
    __typename id name mode concurrency ackTimeout inFlight paused oldestDueSeconds
    pause { since by }
    hold { since until reason byBreaker askedBy { id } probe { id } }
    breaker { failures seconds failedInRow openedAt failedProbes }
    rateLimitMax rateLimitWindow rateWindow { used max resetsAt }
    depth { due scheduled retrying held processing awaitingAck nextDueAt firstAckDeadline }
    health {
      answered2xx answered3xx answered4xx answered5xx unauthorized backpressure unanswered
      attempts failed deferred duration { p50 p95 } lastFailure { at succeededSince error } past { attempts failed answered3xx answered4xx answered5xx unauthorized unanswered }
      warnings { warning message }
    }
  }
`);
export type QueueNow = FragmentOf<typeof QueueNow>;

export const JobRow = graphql(`
  fragment JobRow on Job {
    __typename id status state attemptsMade maxAttempts deferCount createdAt scheduledFor startedAt endedAt ackDeadline
    lastError deadReason cancelledBy idempotencyKey
    waiting { reason earliestAt }
    queue { __typename id name deletedAt concurrency rateLimitMax pause { since by } }
    deadLetter { __typename id replayedAt }
  }
`);
export type JobRow = FragmentOf<typeof JobRow>;

/** All that the course of a job is drawn and described from. The live stream does not send it. */
export const JobCourse = graphql(`
  fragment JobCourse on Job {
    backoffType backoffDelay deliverBy progress { text at } waiting { ahead }
    receipt { webhookStatusCode durationMs responseBody }
    attempts {
      attempt status at startedAt durationMs waitMs webhookStatusCode error responseBody retryAt heldUntil
    }
    queue {
      __typename id name mode concurrency inFlight depth { awaitingAck } rateLimitMax rateLimitWindow maxDefers ackTimeout
      ackTimeoutAction pause { since by } hold { until reason byBreaker askedBy { id } probe { id } } rateWindow { used max resetsAt }
    }
  }
`);
export type JobCourse = FragmentOf<typeof JobCourse>;

export const ActionNow = graphql(`
  fragment ActionNow on BulkAction {
    __typename id kind status matched processed succeeded skipped ratePerSecond canary canaryJobId error
    repeatedStep requestedBy pausedAt pausedBy createdAt updatedAt finishedAt selection queue { __typename id name }
  }
`);
export type ActionNow = FragmentOf<typeof ActionNow>;

export const Cause = graphql(`
  fragment Cause on ErrorGroup {
    fingerprint reason error webhookStatusCode count firstSeen lastSeen
    queue { __typename id name maxAttempts maxDefers ackTimeout }
    sample { id lastAttempt { attempt responseBody } }
  }
`);
export type Cause = FragmentOf<typeof Cause>;

/** An entry of the audit log, as far as it is put into words. */
export const ChangeEntry = graphql(`
  fragment ChangeEntry on AuditEntry { id at actor action targetType targetId targetName before after }
`);
export type ChangeEntry = FragmentOf<typeof ChangeEntry>;
