import type { GraphQL } from '../support/graphql.ts';
import { saysNothingWasStored } from '../support/refusal.ts';

export type Operate = ReturnType<typeof createOperations>;

/** Mutations by which a person or a worker changes something; a refusal is an error. */
export function createOperations(graphql: GraphQL) {
  // biome-ignore lint/suspicious/noExplicitAny: each mutation has a result of its own
  async function must(mutation: string, variables: object): Promise<any> {
    const data = await graphql.query(mutation, variables);
    const [[name = '', result] = []] = Object.entries<{ refused?: string }>(data);
    if (result?.refused !== undefined) throw new Error(`${name}: ${result.refused}`);
    return result;
  }
  const REFUSED = '... on Error { refused: message }';

  return {
    /** @returns the queue's id */
    async createQueue(input: object): Promise<string> {
      const { queue } = await must(
        `mutation ($input: CreateQueueInput!) { createQueue(input: $input) { ... on CreateQueuePayload { queue { id } } ${REFUSED} } }`,
        { input },
      );
      return queue.id;
    },
    /** @returns the jobs' ids */
    async publish(queue: string, payloads: readonly string[], delay = 0): Promise<string[]> {
      const jobs = payloads.map((payloadText) => ({ queue, job: { payloadText, delay } }));
      const { answers } = await must(
        `mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) {
           ... on PublishJobsPayload { answers { ... on PublishJobPayload { job { id } } ${REFUSED} } } ${REFUSED} } }`,
        { jobs },
      );
      const ids: string[] = [];
      for (const [index, { job, refused }] of (answers as { job?: { id: string }; refused?: string }[]).entries()) {
        if (job !== undefined) ids.push(job.id);
        // On a busy machine.
        else if (saysNothingWasStored(refused ?? ''))
          ids.push(...(await this.publish(queue, payloads.slice(index, index + 1), delay)));
        else throw new Error(`publish: ${refused}`);
      }
      return ids;
    },
    /** @param name of a mutation whose only argument is `id` */
    change: (
      name: 'cancelJob' | 'ackJob' | 'replayDeadLetter' | 'pauseQueue' | 'resumeQueue' | 'deleteQueue' | 'runNow',
      id: string,
    ) => must(`mutation ($id: ID!) { ${name}(id: $id) { __typename ${REFUSED} } }`, { id }),
    nack: (id: string, reason: string) =>
      must(
        `mutation ($id: ID!, $reason: String) { nackJob(id: $id, reason: $reason, retryable: false) { __typename ${REFUSED} } }`,
        { id, reason },
      ),
    defer: (id: string, retryAfter: number, reason: string) =>
      must(
        `mutation ($id: ID!, $retryAfter: Float!, $reason: String) {
           deferJob(id: $id, retryAfter: $retryAfter, reason: $reason) { __typename ${REFUSED} } }`,
        { id, retryAfter, reason },
      ),
    extend: (id: string, progress: string) =>
      must(
        `mutation ($id: ID!, $progress: String) {
           extendAck(id: $id, seconds: 1800, progress: $progress) { __typename ${REFUSED} } }`,
        { id, progress },
      ),
    updateQueue: (id: string, input: object) =>
      must(
        `mutation ($id: ID!, $input: UpdateQueueInput!) { updateQueue(id: $id, input: $input) { __typename ${REFUSED} } }`,
        { id, input },
      ),
    rotateSecret: (id: string) =>
      must(`mutation ($id: ID!) { rotateSigningSecret(queueId: $id, overlapSeconds: 0) { __typename ${REFUSED} } }`, {
        id,
      }),
    async createKey(name: string): Promise<string> {
      const { apiKey } = await must(
        `mutation ($name: String) { createApiKey(name: $name) { ... on CreateApiKeyPayload { apiKey { id } } ${REFUSED} } }`,
        { name },
      );
      return apiKey.id;
    },
    revokeKey: (id: string) => must(`mutation ($id: ID!) { revokeApiKey(id: $id) { __typename ${REFUSED} } }`, { id }),
    /** @returns the action's id */
    async replayAll(queueId: string, ratePerSecond: number): Promise<string> {
      const { action } = await must(
        `mutation ($queueId: ID!, $rate: Int) { replayDeadLetters(queueId: $queueId, all: true, ratePerSecond: $rate) {
           ... on BulkActionPayload { action { id } } ${REFUSED} } }`,
        { queueId, rate: ratePerSecond },
      );
      return action.id;
    },
    /** @returns the action's id */
    async cancelAll(filter: object): Promise<string> {
      const { action } = await must(
        `mutation ($filter: JobFilter!) { cancelJobs(filter: $filter) {
           ... on BulkActionPayload { action { id } } ${REFUSED} } }`,
        { filter },
      );
      return action.id;
    },
    stop: (id: string) => must(`mutation ($id: ID!) { cancelBulkAction(id: $id) { __typename ${REFUSED} } }`, { id }),
  };
}
