import { assertDocumented } from './openapi.ts';
import { saysNothingWasStored } from './refusal.ts';
import { always, waitFor } from './wait-for.ts';

/**
 * A client of our own for the tests. The service's types stay out of it, so that a change of the
 * contract breaks a test and not only a type. Every answer is held against the OpenAPI document.
 */
export interface ApiAnswer<Body = unknown> {
  status: number;
  /** Parsed; `undefined` when there is none. */
  body: Body;
  /** As it came in, for what `JSON.parse` would change. */
  text: string;
  headers: Headers;
}

export interface ApiQueue {
  id: string;
  name: string;
  webhookUrl: string;
  signingSecret: string;
  maxAttempts: number;
  maxDefers: number;
  concurrency: number;
  dlqEnabled: boolean;
  mode: string;
  rateLimitMax: number | null;
  rateLimitWindow: number;
  ackTimeout: number;
  ackTimeoutAction: string;
  backoffType: string;
  backoffDelay: number;
  createdAt: string;
}

export interface ApiHistoryEntry {
  attempt: number;
  status: 'success' | 'failed' | 'nacked' | 'deferred';
  error: string | null;
  webhookStatusCode: number | null;
  timestamp: string;
}

export type ApiJobStatus = 'pending' | 'processing' | 'awaiting_ack' | 'completed' | 'dead';

export interface ApiJob {
  id: string;
  queue: string;
  status: ApiJobStatus;
  attempts: number;
  maxAttempts: number;
  deferCount: number;
  idempotencyKey: string | null;
  payload: Record<string, unknown>;
  scheduledFor: string;
  lastError: string | null;
  history: ApiHistoryEntry[];
  createdAt: string;
  completedAt: string | null;
}

export interface ApiPublished {
  id: string;
  status: ApiJobStatus;
  createdAt: string;
}

export interface ApiDeadLetter {
  id: string;
  originalJobId: string;
  queue: string;
  payload: Record<string, unknown>;
  history: ApiHistoryEntry[];
  deadAt: string;
  replayedAt: string | null;
  replayedJobId: string | null;
}

export interface ApiPage<T> {
  jobs: T[];
  total: number;
  page: number;
  limit: number;
}

export interface PublishBody {
  payload: unknown;
  idempotencyKey?: string;
  delay?: number;
}

export type Api = ReturnType<typeof createApi>;

const isIdempotent = (method: string) => method === 'GET' || method === 'PUT';

let queuesCreated = 0;

/** @param key a bearer key, for example the service's `BOOTSTRAP_API_KEY` */
export function createApi(baseUrl: string, key: string) {
  /** @param body a string is sent as it is, anything else as JSON; without it there is no body */
  async function call<Body = unknown>(method: string, path: string, body?: unknown): Promise<ApiAnswer<Body>> {
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await response.text();
    assertDocumented(method, response.url, { status: response.status, headers: response.headers, text }, sent);
    const parsed = (text === '' ? undefined : JSON.parse(text)) as Body;
    return { status: response.status, body: parsed, text, headers: response.headers };
  }

  /** As `call`, for steps of a test: a busy machine may refuse one, which is repeated, as every client should. */
  function patiently<Body = unknown>(method: string, path: string, body?: unknown): Promise<ApiAnswer<Body>> {
    return waitFor(async () => {
      const answer = await call<Body>(method, path, body);
      return answer.status === 503 && (isIdempotent(method) || saysNothingWasStored(answer.text)) ? null : answer;
    });
  }

  /** For calls that are steps of a test and not its subject: another status fails the test, with the answer's body. */
  async function must<Body>(statuses: number[], method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await patiently<Body>(method, path, body);
    if (statuses.includes(answer.status)) return answer.body;
    throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  }

  /** Creates a queue under a name of its own unless one is given. */
  function createQueue(overrides: { webhookUrl: string } & Partial<ApiQueue>): Promise<ApiQueue> {
    return waitFor(async () => {
      queuesCreated += 1;
      const settings = { name: `queue-${queuesCreated}`, ...overrides };
      const { status, body, text } = await patiently<ApiQueue>('POST', '/v1/queues', settings);
      // It may have been stored, which does no harm to another one of a name of its own.
      if (status === 503 && overrides.name === undefined) return null;
      always(() => {
        if (status !== 201) throw new Error(`POST /v1/queues answered ${status}: ${text}`);
      });
      return body;
    });
  }

  function updateQueue(id: string, changes: Partial<ApiQueue>): Promise<ApiQueue> {
    return must([200], 'PUT', `/v1/queues/${id}`, changes);
  }

  function publish(queueName: string, body: PublishBody = { payload: {} }): Promise<ApiPublished> {
    return must([200, 201], 'POST', `/v1/queues/${queueName}/jobs`, body);
  }

  /** @param rawText the whole request body */
  function publishRaw(queueName: string, rawText: string): Promise<ApiAnswer<ApiPublished>> {
    return patiently('POST', `/v1/queues/${queueName}/jobs`, rawText);
  }

  function getJob(id: string): Promise<ApiJob> {
    return must([200], 'GET', `/v1/jobs/${id}`);
  }

  /** Waits until the condition holds, and returns the job as it was then. */
  async function waitForJob(id: string, condition: (job: ApiJob) => boolean, timeoutMs = 60_000): Promise<ApiJob> {
    let last: ApiJob | undefined;
    const check = async () => {
      last = await getJob(id);
      return condition(last) ? last : null;
    };
    return waitFor(check, { timeoutMs, message: `job ${id}: ${condition}` }).catch((error: unknown) => {
      throw new Error(`${String(error)}; the job is ${JSON.stringify(last)}`);
    });
  }

  function waitForStatus(id: string, status: ApiJobStatus, timeoutMs?: number): Promise<ApiJob> {
    return waitForJob(id, (job) => job.status === status, timeoutMs);
  }

  function listJobs(queueId: string, query = ''): Promise<ApiPage<ApiJob> & { appliedFrom: string }> {
    return must([200], 'GET', `/v1/queues/${queueId}/jobs${query}`);
  }

  function listDeadLetters(queueId: string, query = ''): Promise<ApiPage<ApiDeadLetter>> {
    return must([200], 'GET', `/v1/queues/${queueId}/dlq${query}`);
  }

  return {
    call,
    patiently,
    createQueue,
    updateQueue,
    publish,
    publishRaw,
    getJob,
    waitForJob,
    waitForStatus,
    listJobs,
    listDeadLetters,
  };
}
