import type pg from 'pg';
import { insertJob } from './history.ts';
import type { QueueIds } from './past.ts';
import { EXACT_PAYLOAD, HTML_ANSWER, ORDER_PAYLOAD } from './payloads.ts';

/** One job for each sentence that a job's page can begin with, as far as no running service is needed for it. */
export type SpecialJob =
  | 'retrying'
  | 'held'
  | 'exact'
  | 'completed'
  | 'attemptsExhausted'
  | 'ackTimeout'
  | 'deferCapExhausted'
  | 'retryAfterExceedsLifetime'
  | 'lifetimeExceeded';

const CONFLICT =
  '{"error":"internal","message":"could not serialize access due to concurrent update","request":"rq_01jcj8"}';
const FAILED = { status: 'failed', code: 500, error: 'HTTP 500' } as const;
const DEFERRED = { status: 'deferred', code: 429, error: 'HTTP 429', attempt: 1 } as const;

export async function insertSpecialJobs(db: pg.Client, queues: QueueIds): Promise<Record<SpecialJob, string>> {
  const of = (name: string) => queues[name] ?? '';
  return {
    retrying: await insertJob(db, {
      queueId: of('order-events'),
      payload: ORDER_PAYLOAD,
      key: 'paid-ord_88213',
      status: 'pending',
      created: 64,
      scheduled: -1800,
      waitReason: 'backoff',
      history: [
        { ...FAILED, attempt: 1, at: 60, body: CONFLICT, tookMs: 212, lateMs: 100 },
        { ...FAILED, attempt: 2, at: 50, body: CONFLICT, tookMs: 187 },
        { attempt: 3, status: 'failed', at: 12, error: 'timeout', tookMs: 15_000 },
      ],
    }),
    held: await insertJob(db, {
      queueId: of('sms-gateway'),
      payload: '{"to":"+4915550042","customer":{"id":42}}',
      status: 'pending',
      created: 300,
      scheduled: -1500,
      waitReason: 'hold',
      defers: 2,
      history: [
        { ...DEFERRED, at: 290, body: '{"error":{"type":"rate_limit_error"}}' },
        { ...DEFERRED, at: 60, body: '{"error":{"type":"rate_limit_error"}}' },
      ],
    }),
    exact: await insertJob(db, {
      queueId: of('order-events'),
      payload: EXACT_PAYLOAD,
      status: 'dead',
      created: 1500,
      deadReason: 'attempts_exhausted',
      history: [5, 4, 3, 2, 1].map((left) => ({
        ...({ status: 'failed', attempt: 6 - left, at: 1200 + left * 40 } as const),
        code: 502,
        error: 'HTTP 502',
        body: HTML_ANSWER,
      })),
    }),
    completed: await insertJob(db, {
      queueId: of('order-events'),
      payload: ORDER_PAYLOAD,
      status: 'completed',
      created: 600,
      history: [
        { ...FAILED, attempt: 1, at: 599, body: CONFLICT },
        { attempt: 2, status: 'success', code: 200, at: 594, body: '{"ok":true}', tookMs: 48 },
      ],
    }),
    attemptsExhausted: await insertJob(db, {
      queueId: of('order-events'),
      payload: ORDER_PAYLOAD,
      status: 'dead',
      created: 4400,
      deadReason: 'attempts_exhausted',
      history: [1, 2, 3, 4, 5].map((attempt) => ({ ...FAILED, attempt, at: 4400 - 2 ** attempt * 4, body: CONFLICT })),
    }),
    ackTimeout: await insertJob(db, {
      queueId: of('image-resize'),
      payload: '{"image":"img_1.jpg"}',
      status: 'dead',
      created: 2400,
      deadReason: 'ack_timeout',
      history: [{ attempt: 1, status: 'failed', code: 202, error: 'ack_timeout', at: 1200 }],
    }),
    deferCapExhausted: await insertJob(db, {
      queueId: of('llm-moderation'),
      payload: '{"text":"txt_1"}',
      status: 'dead',
      created: 5000,
      defers: 50,
      deadReason: 'defer_cap_exhausted',
      history: [{ ...DEFERRED, error: 'defer_cap_exhausted', at: 2000 }],
    }),
    retryAfterExceedsLifetime: await insertJob(db, {
      queueId: of('sms-gateway'),
      payload: '{"to":"+4915550043"}',
      status: 'dead',
      created: 3000,
      deadReason: 'retry_after_exceeds_lifetime',
      history: [{ ...DEFERRED, error: 'retry_after_exceeds_lifetime', at: 2990 }],
    }),
    lifetimeExceeded: await insertJob(db, {
      queueId: of('partner-feed'),
      payload: '{"feed":7}',
      status: 'dead',
      created: 93_000,
      deliverBy: 6600,
      deadReason: 'delivery_lifetime_exceeded',
      history: [],
    }),
  };
}
