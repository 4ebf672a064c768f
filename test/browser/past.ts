import type pg from 'pg';
import { insertPast, insertWaiting, type Past } from './history.ts';
import { SQL_PAYLOADS as PAYLOADS } from './payloads.ts';

/** Three hours of a service with good and bad queues, as the overview and the charts show them. */

/** Ids of queues by name. */
export type QueueIds = Readonly<Record<string, string>>;

const POOL = '{"error":"connection pool exhausted: 40 of 40 in use, 112 waiting"}';
const LIMIT = '{"error":{"type":"rate_limit_error"}}';

type Rest = Omit<Past, 'queueId' | 'end' | 'code'> & Partial<Pick<Past, 'end' | 'code'>>;

/** By queue: what happened when. Minutes before now. */
const HISTORY: Readonly<Record<string, readonly Rest[]>> = {
  'order-events': [
    { from: 180, to: 0, count: 4200, tookMs: 48, lateMs: 40, payload: PAYLOADS.order },
    ...[{ from: 96, to: 66, count: 190, tookMs: 210, lateMs: 60, code: 500, body: POOL, attempts: 5 }].map(dead),
  ],
  'crm-sync': [
    { from: 180, to: 62, count: 420, tookMs: 80, lateMs: 60, payload: PAYLOADS.contact },
    { from: 60, to: 1, count: 28, tookMs: 82, lateMs: 70, payload: PAYLOADS.contact },
    {
      from: 58,
      to: 2,
      count: 52,
      tookMs: 14,
      lateMs: 180,
      code: 401,
      body: '{"error":"invalid signature"}',
      attempts: 6,
      end: 'dead',
      payload: PAYLOADS.contact,
    },
  ],
  'search-index': [
    { from: 180, to: 20, count: 1500, tookMs: 610, lateMs: 90, payload: PAYLOADS.document },
    { from: 20, to: 9, count: 700, tookMs: 1900, lateMs: 60_000, payload: PAYLOADS.document },
    {
      ...dead({ from: 49, to: 17, count: 9, tookMs: 15_000, lateMs: 400, code: null, attempts: 3 }),
      payload: PAYLOADS.document,
    },
    {
      from: 104,
      to: 55,
      count: 3,
      tookMs: 40,
      lateMs: 60,
      code: 413,
      body: 'request entity too large',
      attempts: 3,
      end: 'dead',
      payload: PAYLOADS.document,
    },
  ],
  'report-builder': [{ from: 180, to: 0, count: 900, tookMs: 1800, lateMs: 200_000, payload: PAYLOADS.document }],
  'llm-summaries': [{ from: 180, to: 3, count: 800, tookMs: 35, lateMs: 12_000, payload: PAYLOADS.text }],
  'llm-moderation': [
    { from: 180, to: 1, count: 1600, tookMs: 28, lateMs: 300, payload: PAYLOADS.text },
    {
      from: 170,
      to: 31,
      count: 21,
      tookMs: 20,
      lateMs: 300,
      code: 429,
      body: LIMIT,
      reason: 'defer_cap_exhausted',
      error: 'defer_cap_exhausted',
      end: 'dead',
      payload: PAYLOADS.text,
    },
  ],
  'billing-export': [{ from: 180, to: 46, count: 300, tookMs: 320, lateMs: 80, payload: PAYLOADS.contact }],
  'image-resize': [
    { from: 180, to: 0, count: 1300, tookMs: 60, lateMs: 120, payload: PAYLOADS.image },
    {
      from: 175,
      to: 18,
      count: 31,
      tookMs: 60,
      lateMs: 140,
      code: 202,
      error: 'ack_timeout',
      attempts: 2,
      reason: 'ack_timeout',
      end: 'dead',
      payload: PAYLOADS.image,
    },
  ],
  emails: [
    { from: 180, to: 62, count: 800, tookMs: 110, lateMs: 60, payload: PAYLOADS.email },
    { from: 60, to: 2, count: 60, tookMs: 120, lateMs: 400, payload: PAYLOADS.email },
    {
      from: 60,
      to: 2,
      count: 70,
      tookMs: 32,
      lateMs: 300,
      code: 500,
      attempts: 3,
      end: 'dead',
      body: '{"error":"smtp: 421 too many connections from 10.0.3.17"}',
      payload: PAYLOADS.email,
    },
  ],
  'video-transcode': [{ from: 180, to: 0, count: 260, tookMs: 8200, lateMs: 900, payload: PAYLOADS.image }],
  'sms-gateway': [
    { from: 180, to: 0, count: 700, tookMs: 90, lateMs: 200, payload: PAYLOADS.email },
    {
      from: 58,
      to: 1,
      count: 140,
      tookMs: 25,
      lateMs: 200,
      code: 429,
      body: LIMIT,
      end: 'deferred',
      payload: PAYLOADS.email,
    },
  ],
  'audit-trail': [{ from: 180, to: 0, count: 2600, tookMs: 8, lateMs: 9, payload: PAYLOADS.event }],
  'push-notify': [{ from: 180, to: 25, count: 500, tookMs: 70, lateMs: 30, payload: PAYLOADS.event }],
  'partner-feed': [{ from: 180, to: 62, count: 120, tookMs: 140, lateMs: 4000, payload: PAYLOADS.contact }],
};

function dead(rest: Omit<Rest, 'payload'>): Rest {
  return { ...rest, end: 'dead', payload: PAYLOADS.order };
}

export async function insertHistory(db: pg.Client, queues: QueueIds): Promise<void> {
  await db.query('select setseed(0.42)');
  for (const [name, parts] of Object.entries(HISTORY)) {
    const queueId = queues[name] ?? '';
    for (const part of parts) await insertPast(db, { code: 200, end: 'completed', ...part, queueId });
  }
}

/** Backlogs, as deep as their queues are slow. */
export async function insertBacklogs(db: pg.Client, queues: QueueIds): Promise<void> {
  const backlogs: [name: string, from: number, to: number, count: number, payload: string][] = [
    ['search-index', 9, 0, 2000, PAYLOADS.document],
    ['report-builder', 40, 20, 400, PAYLOADS.document],
    ['billing-export', 44, 0, 96, PAYLOADS.contact],
    ['video-transcode', 2, 0, 30, PAYLOADS.image],
    ['nightly-batch', 1, 0, 3, PAYLOADS.event],
  ];
  for (const [name, from, to, count, payload] of backlogs) {
    await insertWaiting(db, { queueId: queues[name] ?? '', from, to, count, payload });
  }
}
