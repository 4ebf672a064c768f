import { createClient } from '../index.ts';
import type { JobferryClient } from '../types.ts';
import { createFakeService, type FakeOptions, type FakePublish, type FakeQueue } from './fake-service.ts';

/** A client that sends nothing. */
export interface FakeClient {
  /** For the code under test. It checks its arguments as the real one does. */
  client: JobferryClient;
  /** Publishes in their order. A repeated idempotency key returns the earlier job and is not recorded again. */
  published: FakePublish[];
  /** Queues that were created and not deleted. */
  queues: FakeQueue[];
  /** Forgets all publishes. */
  clear(): void;
}

const BASE_URL = 'http://fake-jobferry.invalid';

/**
 * Creates a client that records publishes:
 *
 *     const { client, published } = createFakeClient();
 *     await signUp(client, 'ada@example.org');
 *     expect(published).toMatchObject([{ queue: 'emails', payload: { to: 'ada@example.org' } }]);
 *
 * It answers a publish with 201, with 200 for a repeated idempotency key, or with 400 for a body that the contract
 * refuses; `publishMany` does the same for each job. It keeps the queues that are created (`queues.ensure`), pauses and
 * resumes them, and reads each published job as completed, so `waitForOutcome` ends. A publish needs no queue. Every
 * other call is answered with 404; `respond` gives other answers, such as a 402 that the code under test must survive.
 * Temporary failures are not retried.
 */
export function createFakeClient({ respond = () => undefined }: FakeOptions = {}): FakeClient {
  const { published, queues, answer } = createFakeService(respond);
  const client = createClient({
    baseUrl: BASE_URL,
    apiKey: 'fake',
    retries: 0,
    fetch: async (url, init) => {
      const path = decodeURIComponent(String(url).slice(BASE_URL.length).replace(/\?.*$/, ''));
      const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
      const { status, body: answered, headers = {} } = answer(`${init?.method ?? 'GET'} ${path}`, body);
      return new Response(answered === undefined ? null : JSON.stringify(answered), { status, headers });
    },
  });
  return { client, published, queues, clear: () => void published.splice(0) };
}
