import type { GraphQL } from '../support/graphql.ts';
import { createOperations } from './operations.ts';
import type { QueueIds } from './past.ts';

/** The queues of the seeded service, one for each condition that a queue can be in. */
const QUEUES: Readonly<Record<string, object>> = {
  'order-events': { concurrency: 10, maxAttempts: 5, backoffDelay: 4 },
  'crm-sync': { concurrency: 5, maxAttempts: 6, backoffDelay: 60 },
  'search-index': { concurrency: 2 },
  'report-builder': { concurrency: 2 },
  'llm-summaries': { mode: 'ACK', concurrency: 12, ackTimeout: 3600 },
  'llm-moderation': { mode: 'ACK', concurrency: 8, ackTimeout: 3600 },
  'billing-export': { concurrency: 5 },
  'image-resize': { mode: 'ACK', concurrency: 25, ackTimeout: 3600, maxAttempts: 2 },
  emails: { concurrency: 5, backoffType: 'FIXED', backoffDelay: 1800 },
  'video-transcode': { concurrency: 4 },
  'sms-gateway': { concurrency: 5 },
  'audit-trail': { concurrency: 50 },
  'push-notify': {},
  'partner-feed': { rateLimitMax: 2, rateLimitWindow: 3600 },
  'nightly-batch': {},
  'legacy-import': {},
};

/** Creates them over the API, so that the audit log has it. The name is the last part of the webhook's path. */
export async function createQueues(graphql: GraphQL, receiverUrl: string): Promise<QueueIds> {
  const { createQueue } = createOperations(graphql);
  const ids: Record<string, string> = {};
  for (const [name, settings] of Object.entries(QUEUES)) {
    ids[name] = await createQueue({ name, webhookUrl: `${receiverUrl}/hooks/${name}`, ...settings });
  }
  return ids;
}
