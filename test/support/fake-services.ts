import type { Account } from '../../src/domain/account.ts';
import type { JobDocument } from '../../src/domain/job.ts';
import { type CreatedQueue, QUEUE_DEFAULTS } from '../../src/domain/queue.ts';
import type { RestServices } from '../../src/http/routes/rest-services.ts';

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
  /** Such as `jobs.publish`. */
  method: string;
  args: unknown[];
}

/** Use cases that a test puts in place of those that stand in. */
export type Overrides = { [Noun in keyof RestServices]?: Partial<NonNullable<RestServices[Noun]>> };

/**
 * Stands in for the use cases, so that these tests show what HTTP makes of a request and of an answer.
 * The real ones are behind the same app in test/e2e.
 */
export function fakeServices(overrides: Overrides): { services: RestServices; calls: Call[] } {
  const published = { id: ID, status: 'pending' as const, createdAt: CREATED_AT };
  const page = { total: 1, limit: 25, page: 1 };
  const deadLetter = { ...job, originalJobId: ID, deadAt: CREATED_AT, replayedAt: null, replayedJobId: null };
  const calls: Call[] = [];
  const services: RestServices = {
    accounts: {
      authenticate: async (key) => (key === KEY ? account : null),
      // A test that replaces `authenticate` is about that, so every request has to call it.
      authenticated: (key) => (overrides.accounts?.authenticate === undefined && key === KEY ? account : null),
      knownAccount: (key) => (key === KEY ? account : null),
      queueName: async () => 'mails',
      ...overrides.accounts,
    },
    jobs: {
      publish: async () => ({ created: true, payloadDiffers: false, job: published }),
      get: async () => job,
      list: async () => ({ ...page, jobs: [job], appliedFrom: CREATED_AT }),
      ack: async () => job,
      nack: async () => job,
      defer: async () => job,
      extendAck: async () => CREATED_AT,
      ...overrides.jobs,
    },
    queues: {
      list: async () => [createdQueue],
      create: async (_account, { template: _, signingSecret = createdQueue.signingSecret, ...input }) => ({
        ...createdQueue,
        ...input,
        signingSecret,
      }),
      get: async () => createdQueue,
      update: async () => createdQueue,
      delete: async () => undefined,
      addressWarning: () => null,
      ...overrides.queues,
    },
    reportUrls: overrides.reportUrls === undefined ? null : (overrides.reportUrls as RestServices['reportUrls']),
    deadLetters: {
      list: async () => ({ ...page, jobs: [deadLetter] }),
      replay: async () => published,
      replayMany: async () => ({ replayed: 0, skipped: 0, jobs: [], errors: [], remaining: 0 }),
      ...overrides.deadLetters,
    },
  };
  const recorded = Object.entries(services).map(([noun, useCases]: [string, object | null]) => [
    noun,
    useCases === null ? null : recording(noun, useCases, calls),
  ]);
  return { services: Object.fromEntries(recorded) as RestServices, calls };
}

function recording(noun: string, useCases: object, calls: Call[]): object {
  const recorded = Object.entries(useCases).map(([name, useCase]: [string, (...args: unknown[]) => unknown]) => [
    name,
    (...args: unknown[]) => {
      calls.push({ method: `${noun}.${name}`, args });
      return useCase(...args);
    },
  ]);
  return Object.fromEntries(recorded) as object;
}
