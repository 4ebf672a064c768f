import type { JsonObject } from '../../contract/verbatim-json.ts';
import { createClient } from '../index.ts';
import type { PublishInput, Queue } from '../models.ts';
import type { JobferryClient } from '../types.ts';
import { createFakeService } from './fake-service.ts';

type PublishOptions = Omit<PublishInput, 'payload'>;

/** A publish that a fake client has recorded. */
export interface FakePublish {
  /** Name of the queue. */
  queue: string;
  /** Payload, as a receiver would get it: written as JSON, and parsed. */
  payload: JsonObject;
  /** The other members of the body, such as `delay` and `idempotencyKey`. */
  options: PublishOptions;
  /** Id of the job that the answer names. */
  jobId: string;
}

/** A queue that a fake client keeps. */
export interface FakeQueue extends Queue {
  /** Whether it was paused, and not resumed since. */
  isPaused: boolean;
}

/** An answer of a fake client. */
export interface FakeAnswer {
  /** HTTP status. */
  status: number;
  /** Body, before it is written as JSON. */
  body?: unknown;
  /** Headers, such as `retry-after`. */
  headers?: Record<string, string> | undefined;
}

/** Argument of `createFakeClient`. */
export interface FakeOptions {
  /**
   * Answers a call in place of the fake; undefined leaves it to the fake. A publish that it answers is not recorded. It is asked
   * about each job of a `publishMany` as about a publish.
   * @param call such as `POST /v1/queues/emails/jobs`
   * @param body parsed; undefined if the call has none
   */
  respond?: (call: string, body: unknown) => FakeAnswer | undefined;
}

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
 * It answers a publish with 201, with 200 for a repeated idempotency key, or with 400 for a body that the contract refuses;
 * `publishMany` does the same for each job. It keeps the queues that are created (`queues.ensure`), pauses and resumes them, and reads
 * each published job as completed, so `waitForOutcome` ends. A publish needs no queue. Every other call is answered with 404;
 * `respond` gives other answers, such as a 402 that the code under test must survive. Temporary failures are not retried.
 */
export function createFakeClient({ respond = () => undefined }: FakeOptions = {}): FakeClient {
  const { published, queues, answer } = createFakeService(respond);
  const client = createClient({
    ...{ baseUrl: BASE_URL, apiKey: 'fake', retries: 0 },
    fetch: async (url, init) => {
      const path = decodeURIComponent(String(url).slice(BASE_URL.length).replace(/\?.*$/, ''));
      const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
      const { status, body: answered, headers = {} } = answer(`${init?.method ?? 'GET'} ${path}`, body);
      return new Response(answered === undefined ? null : JSON.stringify(answered), { status, headers });
    },
  });
  return { client, published, queues, clear: () => void published.splice(0) };
}
