/**
 * SQL: how many attempts in rows `s` of the statistics were failed probes of open breakers, as `failedProbesOf` in
 * `domain/health` has it. An expression of sums.
 */
export const FAILED_PROBES = `least(sum(s.deferred), greatest(
    sum(s.answered_3xx + s.answered_4xx + s.answered_5xx + s.unauthorized + s.unanswered - s.failed), 0))`;
