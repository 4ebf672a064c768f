/** Example queries in the tabs of the explorer, ready to run. */
export const READY_QUERIES: readonly { title: string; query: string; variables?: object }[] = [
  {
    title: 'Queues at a glance',
    query: `# The present state of every queue.
query QueuesAtAGlance {
  queues(first: 20) {
    nodes {
      id
      name
      paused
      hold { until reason }
      inFlight
      concurrency
      oldestDueSeconds
      depth { due scheduled retrying held processing awaitingAck completed dead }
      health { warnings { warning message } }
    }
  }
}`,
  },
  {
    title: 'Why is it waiting?',
    query: `# Why pending jobs are not being delivered now, and until when.
query WhyWaiting {
  jobs(first: 20, filter: { statuses: [PENDING] }, orderBy: { field: SCHEDULED_FOR, direction: ASC }) {
    nodes {
      id
      queue { name }
      lastError
      waiting { reason message earliestAt }
    }
  }
}`,
  },
  {
    title: 'Find by payload',
    query: `# Jobs of customer 42 whose last attempt was answered with a 5xx.
query FindByPayload($payload: PayloadConditionInput) {
  jobs(first: 20, filter: { payload: $payload, webhookStatusClasses: [5] }) {
    totalCount
    nodes {
      id
      status
      payload
      attempts { attempt status webhookStatusCode error durationMs responseBody }
    }
  }
}`,
    variables: { payload: { path: 'customer.id', op: 'EQ', value: 42 } },
  },
  {
    title: 'Error groups',
    query: `# Dead letters grouped by error.
query ErrorGroups {
  errorGroups {
    fingerprint
    reason
    webhookStatusCode
    error
    count
    firstSeen
    lastSeen
    sample { id job { id payload } }
  }
}`,
  },
  {
    title: 'A day of deliveries',
    query: `# Outcomes and latencies of the last day, per hour.
query Day {
  queues(first: 5) {
    nodes {
      name
      timeline(bucketSeconds: 3600) {
        at success failed nacked deferred dead
        duration { p50 p95 p99 }
        wait { p50 p95 p99 }
      }
    }
  }
}`,
  },
  {
    title: 'Publish a job',
    query: `# Set the variable to the name of one of your queues.
mutation Publish($queue: String!) {
  publishJob(queue: $queue, input: { payload: { hello: "world" } }) {
    __typename
    ... on PublishJobPayload { created job { id status } }
    ... on Error { message }
  }
}`,
    variables: { queue: 'hello' },
  },
  {
    title: 'Watch all queues',
    query: `# Server-sent events. Press the button again to stop.
subscription Watch {
  queueStats(everySeconds: 1) {
    queues {
      name
      inFlight
      depth { due retrying processing completed dead }
    }
  }
}`,
  },
];
