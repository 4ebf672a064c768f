import { UNKNOWN_ID } from './shapes.ts';

/** The ids and names in the paths of calls. */
export interface Named {
  queueId: string;
  queueName: string;
  jobId: string;
  deadLetterId: string;
}

export type Call = [method: string, path: string, body?: object];

/** Every route of the spec, with a body that it takes. */
export function everyRoute({ queueId, queueName, jobId, deadLetterId }: Named): Call[] {
  return [
    ['GET', '/v1/queues'],
    ['POST', '/v1/queues', { name: 'new', webhookUrl: 'http://127.0.0.1:9/' }],
    ...routesOfNamed({ queueId, queueName, jobId, deadLetterId }),
  ];
}

/** The routes whose path names an object of an account. */
export function routesOfNamed({ queueId, queueName, jobId, deadLetterId }: Named): Call[] {
  return [
    ['GET', `/v1/queues/${queueId}`],
    ['PUT', `/v1/queues/${queueId}`, { maxAttempts: 2 }],
    ['GET', `/v1/queues/${queueId}/jobs`],
    ['GET', `/v1/queues/${queueId}/dlq`],
    ['POST', `/v1/queues/${queueId}/dlq/${deadLetterId}/replay`],
    ['POST', `/v1/queues/${queueId}/dlq/replay`, { jobIds: [deadLetterId] }],
    ['POST', `/v1/queues/${queueId}/dlq/replay`, { all: true }],
    ['POST', `/v1/queues/${queueName}/jobs`, { payload: {} }],
    ['GET', `/v1/jobs/${jobId}`],
    ['POST', `/v1/jobs/${jobId}/ack`],
    ['POST', `/v1/jobs/${jobId}/nack`, { reason: 'r' }],
    ['POST', `/v1/jobs/${jobId}/defer`, { retryAfter: 1 }],
    ['DELETE', `/v1/queues/${queueId}`],
  ];
}

export const NEVER_MADE: Named = {
  queueId: UNKNOWN_ID,
  queueName: 'never-made',
  jobId: UNKNOWN_ID,
  deadLetterId: UNKNOWN_ID,
};
