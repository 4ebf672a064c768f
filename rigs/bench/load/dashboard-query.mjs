/** The query of an overview page. */
export const DASHBOARD = `{
  queues(first: 10) { totalCount nodes {
    id name paused inFlight oldestDueSeconds
    depth { due scheduled retrying held processing awaitingAck completed dead }
    timeline { at success failed nacked deferred dead duration { p50 p95 p99 } wait { p50 p95 p99 } }
  } }
  jobs(first: 50) { nodes { id status payload attempts { status webhookStatusCode error durationMs } waiting { reason } } }
}`;
