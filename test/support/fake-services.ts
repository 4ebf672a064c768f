import type { JobDocument } from '../../src/domain/job.ts';
import { type CreatedQueue, QUEUE_DEFAULTS } from '../../src/domain/queue.ts';
import type { Account, Services } from '../../src/services/index.ts';

export const KEY = 'jf_test_key';
export const ID = '0123456789abcdef01234567';
export const CREATED_AT = new Date('2026-01-31T12:00:00.123Z');

export const account: Account = {
  id: 'account',
  name: 'test',
  plan: 'pro',
  actor: { type: 'api_key', id: 'key', label: 'jf_…test' },
};

export const job: JobDocument = {
  id: ID,
  queue: 'mails',
  status: 'pending',
  attempts: 1,
  maxAttempts: 3,
  deferCount: 0,
  idempotencyKey: null,
  payload: '{"a":1}',
  scheduledFor: CREATED_AT,
  lastError: 'HTTP 500',
  history: [{ attempt: 1, status: 'failed', error: 'HTTP 500', webhookStatusCode: 500, timestamp: CREATED_AT }],
  createdAt: CREATED_AT,
  completedAt: null,
};

export const createdQueue: CreatedQueue = {
  ...QUEUE_DEFAULTS,
  id: ID,
  name: 'mails',
  webhookUrl: 'http://127.0.0.1/',
  createdAt: CREATED_AT,
  signingSecret: 'secret-of-the-queue',
};

export interface Call {
  method: keyof Services;
  args: unknown[];
}

/**
 * Stands in for the use cases, so that these tests show what HTTP makes of a request and of an answer.
 * The real ones are behind the same app in test/e2e.
 */
export function fakeServices(overrides: Partial<Services>): { services: Services; calls: Call[] } {
  const published = { id: ID, status: 'pending' as const, createdAt: CREATED_AT };
  const page = { total: 1, limit: 25, page: 1 };
  const deadLetter = { ...job, originalJobId: ID, deadAt: CREATED_AT, replayedAt: null, replayedJobId: null };
  const services: Services = {
    authenticate: async (key) => (key === KEY ? account : null),
    knownAccount: (key) => (key === KEY ? account : null),
    publishJob: async () => ({ created: true, job: published }),
    getJob: async () => job,
    listQueues: async () => [createdQueue],
    createQueue: async (_account, { template: _, ...input }) => ({ ...createdQueue, ...input }),
    getQueue: async () => createdQueue,
    updateQueue: async () => createdQueue,
    deleteQueue: async () => undefined,
    listJobs: async () => ({ ...page, jobs: [job], appliedFrom: CREATED_AT }),
    listDeadLetters: async () => ({ ...page, jobs: [deadLetter] }),
    replayDeadLetter: async () => published,
    replayDeadLetters: async () => ({ replayed: 0, skipped: 0, jobs: [], errors: [], remaining: 0 }),
    ackJob: async () => job,
    nackJob: async () => job,
    deferJob: async () => job,
    ...overrides,
  };
  const calls: Call[] = [];
  const recording = new Proxy(services, {
    get:
      (target, method: keyof Services) =>
      (...args: unknown[]) => {
        calls.push({ method, args });
        return (target[method] as (...args: unknown[]) => unknown)(...args);
      },
  });
  return { services: recording, calls };
}
