import type { JsonObject } from '../../contract/verbatim-json.ts';
import { createClient } from '../index.ts';
import type { PublishInput } from '../models.ts';
import type { JobferryClient } from '../types.ts';
import { newId } from './signed-delivery.ts';

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
   * Answers a call in place of the fake; undefined leaves it to the fake. A publish that it answers is not recorded.
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
  /** Forgets all publishes. */
  clear(): void;
}

const PUBLISH = /^POST \/v1\/queues\/([^/]+)\/jobs$/;
const BASE_URL = 'http://fake-jobferry.invalid';

/**
 * Creates a client that records publishes:
 *
 *     const { client, published } = createFakeClient();
 *     await signUp(client, 'ada@example.org');
 *     expect(published).toMatchObject([{ queue: 'emails', payload: { to: 'ada@example.org' } }]);
 *
 * It answers every publish with 201, or with 200 for a repeated idempotency key, and every other call with 404. `respond`
 * gives other answers: a queue to read, or a 402 that the code under test must survive. Temporary failures are not
 * retried.
 */
export function createFakeClient({ respond }: FakeOptions = {}): FakeClient {
  const published: FakePublish[] = [];
  const answer = (call: string, body: unknown): FakeAnswer => {
    const given = respond?.(call, body);
    if (given !== undefined) return given;
    const queue = PUBLISH.exec(call)?.[1];
    if (queue === undefined) return { status: 404, body: { error: `the fake client does not answer ${call}` } };
    const { payload, ...options } = body as { payload: JsonObject } & PublishOptions;
    const { idempotencyKey } = options;
    const isRepeat = (one: FakePublish) => one.queue === queue && one.options.idempotencyKey === idempotencyKey;
    const earlier = idempotencyKey === undefined ? undefined : published.find(isRepeat);
    const jobId = earlier?.jobId ?? newId();
    if (earlier === undefined) published.push({ queue, payload, options, jobId });
    const job = { id: jobId, status: 'pending', createdAt: new Date().toISOString() };
    return { status: earlier === undefined ? 201 : 200, body: job };
  };
  const client = createClient({
    ...{ baseUrl: BASE_URL, apiKey: 'fake', retries: 0 },
    fetch: async (url, init) => {
      const path = decodeURIComponent(String(url).slice(BASE_URL.length).replace(/\?.*$/, ''));
      const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
      const { status, body: answered, headers = {} } = answer(`${init?.method ?? 'GET'} ${path}`, body);
      return new Response(answered === undefined ? null : JSON.stringify(answered), { status, headers });
    },
  });
  return { client, published, clear: () => void published.splice(0) };
}
