import type { contract } from '../../../contract/index.ts';
import { QUEUE_DEFAULTS } from '../../../domain/queue.ts';

type Contract = typeof contract;

/** The path to a route within the contract, joined as `@ts-rest/open-api` does. */
export type OperationId = {
  [Router in keyof Contract & string]: `${Router}.${keyof Contract[Router] & string}`;
}[keyof Contract & string];

interface Examples {
  /** Request bodies by summary. */
  request?: Readonly<Record<string, object>>;
  /** One body per status. A status that is missing here has the same example in every operation, or none. */
  answers: Readonly<Record<number, unknown>>;
}

const PUBLISHED_AT = '2026-01-31T12:00:00.000Z';
const QUEUE_ID = '65b9f2e0c3a1d4b5e6f70812';
const JOB_ID = '65ba3b40c3a1d4b5e6f70901';
const DEAD_JOB_ID = '65ba3b40c3a1d4b5e6f70902';
const DEAD_LETTER_ID = '65ba3b6fc3a1d4b5e6f70a03';
const REPLAYED_JOB_ID = '65ba5760c3a1d4b5e6f70b04';

const queue = {
  id: QUEUE_ID,
  name: 'emails',
  webhookUrl: 'https://hooks.example.com/emails',
  ...QUEUE_DEFAULTS,
  concurrency: 20,
  createdAt: '2026-01-30T09:15:12.345Z',
};
const ackQueue = { ...queue, mode: 'ack', ackTimeout: 600, rateLimitMax: 100 };

const payload = { to: 'ada@example.com', subject: 'Welcome', userId: 4711 };

const published = { id: JOB_ID, status: 'pending', createdAt: PUBLISHED_AT };

const job = {
  id: JOB_ID,
  queue: queue.name,
  status: 'completed',
  attempts: 2,
  maxAttempts: 3,
  deferCount: 0,
  idempotencyKey: 'welcome-4711',
  payload,
  scheduledFor: '2026-01-31T12:00:02.130Z',
  lastError: 'HTTP 500',
  history: [
    {
      attempt: 1,
      status: 'failed',
      error: 'HTTP 500',
      webhookStatusCode: 500,
      timestamp: '2026-01-31T12:00:00.058Z',
    },
    { attempt: 2, status: 'success', error: null, webhookStatusCode: 200, timestamp: '2026-01-31T12:00:02.171Z' },
  ],
  createdAt: PUBLISHED_AT,
  completedAt: '2026-01-31T12:00:02.171Z',
};

/** A job of a queue in ack mode whose webhook answered 202, after a report. */
function reported(outcome: object, entry: object) {
  const timestamp = '2026-01-31T12:04:30.500Z';
  const attempt = { attempt: 1, error: null, webhookStatusCode: 202, timestamp, ...entry };
  return { ...job, attempts: 1, scheduledFor: PUBLISHED_AT, completedAt: null, history: [attempt], ...outcome };
}

const deadLetter = {
  id: DEAD_LETTER_ID,
  originalJobId: DEAD_JOB_ID,
  queue: queue.name,
  payload,
  history: [
    { attempt: 1, status: 'failed', error: 'timeout', webhookStatusCode: null, timestamp: '2026-01-31T12:00:15.021Z' },
  ],
  deadAt: '2026-01-31T12:00:15.021Z',
  replayedAt: null,
  replayedJobId: null,
};

const fields = (formErrors: string[], fieldErrors: Record<string, string[]>) => ({
  error: { formErrors, fieldErrors },
});
const message = (error: string) => ({ error });

const USED_UP = message("your plan's 30000 delivery attempts of this month are used up; upgrade, or go on next month");
const NO_QUEUE = message('queue not found');
const NO_JOB = message('job not found');
const NO_ACK_MODE = message('the queue is not in ack mode');
const QUEUE_DELETED = message('the queue has been deleted, and its dead letters with it');
const BAD_PAGE = message('page: must be a whole number from 1 to 1000000000');

/** Answers with the same example in every operation. */
export const COMMON_ANSWERS: Examples['answers'] = {
  400: message('the path is not valid UTF-8'),
  401: message('missing or invalid API key'),
  403: message('this account is suspended: ask the operator of this service to resume it'),
  413: message('the body is larger than 1048576 bytes'),
  415: message('content-type must be application/json'),
  429: message('too many requests: nothing was stored, try again in 1 s'),
  500: message('internal error'),
  503: message('the database is not available; nothing was stored, try again'),
};

/** Tests check each example against its schema. An operation without an entry does not compile. */
export const EXAMPLES: Readonly<Record<OperationId, Examples>> = {
  'queues.list': { answers: { 200: [queue] } },
  'queues.create': {
    request: {
      'Required fields only': { name: queue.name, webhookUrl: queue.webhookUrl },
      'Ack mode, retries and limits': {
        name: 'videos',
        webhookUrl: 'https://hooks.example.com/videos',
        mode: 'ack',
        ackTimeout: 1800,
        ackTimeoutAction: 'dead',
        concurrency: 2,
        rateLimitMax: 100,
        rateLimitWindow: 60,
        maxAttempts: 5,
        backoffType: 'fixed',
        backoffDelay: 30,
      },
    },
    answers: {
      201: { ...queue, signingSecret: `whsec_${'0123456789abcdef'.repeat(4)}` },
      400: fields([], { name: ['a queue named emails exists already'], concurrency: ['must be at most 500'] }),
      403: message('the concurrency of all your queues would total 1200, above the account limit of 1000'),
    },
  },
  'queues.get': { answers: { 200: queue, 404: NO_QUEUE } },
  'queues.update': {
    request: { 'To ack mode, with a rate limit': { mode: 'ack', ackTimeout: 600, rateLimitMax: 100 } },
    answers: {
      200: ackQueue,
      400: fields([], { name: ['cannot be changed'] }),
      403: message("maxAttempts 25 is above your plan's ceiling of 10"),
      404: NO_QUEUE,
    },
  },
  'queues.delete': { answers: { 404: NO_QUEUE } },
  'jobs.publish': {
    request: {
      'A payload': { payload },
      'At most once, in an hour': { payload, idempotencyKey: 'welcome-4711', delay: 3600 },
    },
    answers: {
      200: { ...published, status: 'completed' },
      201: published,
      400: fields([], { payload: ['must be a JSON object'] }),
      402: USED_UP,
      404: NO_QUEUE,
    },
  },
  'jobs.list': {
    answers: {
      200: { jobs: [job], total: 1, page: 1, limit: 25, appliedFrom: '2026-01-28T12:30:00.000Z' },
      400: BAD_PAGE,
      404: NO_QUEUE,
    },
  },
  'jobs.get': { answers: { 200: job, 404: NO_JOB } },
  'jobs.ack': {
    request: { 'For this attempt only': { attempt: 1 } },
    answers: {
      200: reported(
        { status: 'completed', lastError: null, completedAt: '2026-01-31T12:04:30.500Z' },
        { status: 'success' },
      ),
      400: message('attempt 1 is over, attempt 2 is in flight'),
      404: NO_JOB,
    },
  },
  'jobs.nack': {
    request: {
      'Retry the job': { reason: 'the mail server is down' },
      'Do not retry the job': { retryable: false, reason: 'the address does not exist' },
    },
    answers: {
      200: reported(
        { status: 'dead', lastError: 'the address does not exist' },
        { status: 'nacked', error: 'the address does not exist' },
      ),
      400: NO_ACK_MODE,
      404: NO_JOB,
    },
  },
  'jobs.defer': {
    request: {
      'Hold the queue': { retryAfter: 30, reason: 'the mail server is overloaded' },
      'Hold this job': { retryAfter: 30, scope: 'job' },
    },
    answers: {
      200: reported(
        {
          status: 'pending',
          attempts: 0,
          deferCount: 1,
          lastError: 'the mail server is overloaded',
          scheduledFor: '2026-01-31T12:05:00.500Z',
        },
        { status: 'deferred', error: 'the mail server is overloaded' },
      ),
      400: NO_ACK_MODE,
      404: NO_JOB,
    },
  },
  'deadLetters.list': {
    answers: {
      200: { jobs: [deadLetter], total: 1, page: 1, limit: 25 },
      400: BAD_PAGE,
      404: NO_QUEUE,
      410: QUEUE_DELETED,
    },
  },
  'deadLetters.replay': {
    answers: {
      201: { ...published, id: REPLAYED_JOB_ID, createdAt: '2026-01-31T14:00:00.000Z' },
      402: USED_UP,
      404: message('dead letter not found'),
      409: message('the dead letter has already been replayed'),
      410: QUEUE_DELETED,
    },
  },
  'deadLetters.replayMany': {
    request: { Some: { jobIds: [DEAD_LETTER_ID, JOB_ID] }, All: { all: true } },
    answers: {
      200: {
        replayed: 1,
        skipped: 1,
        jobs: [{ id: DEAD_LETTER_ID, replayedJobId: REPLAYED_JOB_ID }],
        errors: [{ id: JOB_ID, error: 'dead letter not found' }],
        remaining: 0,
      },
      400: message('give either jobIds or all: true'),
      402: USED_UP,
      404: NO_QUEUE,
      410: QUEUE_DELETED,
    },
  },
};

/** The body of a delivery of the job above. */
export const ENVELOPE = { id: JOB_ID, queue: queue.name, payload, attempt: 1, maxAttempts: 3, createdAt: PUBLISHED_AT };
