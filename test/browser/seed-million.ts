import pg from 'pg';
import { indexPast, insertPast } from './history.ts';
import type { QueueIds } from './past.ts';
import { SQL_PAYLOADS } from './payloads.ts';

export const JOBS = Number(process.env.DASHBOARD_JOBS ?? 1_000_000);

const BATCH = 25_000;
/** Shares of all jobs, over the two days before now. */
const SHARES = [
  { name: 'order-events', share: 0.6, end: 'completed', payload: SQL_PAYLOADS.order },
  { name: 'audit-trail', share: 0.25, end: 'completed', payload: SQL_PAYLOADS.event },
  { name: 'emails', share: 0.1, end: 'completed', payload: SQL_PAYLOADS.email },
  { name: 'order-events', share: 0.05, end: 'dead', payload: SQL_PAYLOADS.order },
] as const;

/** Fills the queues of a seeded service with a million jobs, their attempts, dead letters and searchable payloads. */
export async function seedMillion(databaseUrl: string, queues: QueueIds): Promise<void> {
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  try {
    await db.query('set synchronous_commit = off');
    await db.query(`set maintenance_work_mem = '512MB'`);
    const indexes = await dropPayloadIndexes(db);
    for (const { name, share, end, payload } of SHARES) {
      const batches = Math.ceil((JOBS * share) / BATCH);
      for (let n = 0; n < batches; n += 1) {
        const span = 2880 / batches;
        const [from, to] = [2880 - n * span + 180, 2880 - (n + 1) * span + 180];
        const outcome = end === 'dead' ? { code: 500, body: '{"error":"internal"}', attempts: 1 } : { code: 200 };
        await insertPast(db, {
          queueId: queues[name] ?? '',
          from,
          to,
          count: Math.ceil((JOBS * share) / batches),
          end,
          payload,
          tookMs: 60,
          lateMs: 40,
          ...outcome,
        });
      }
    }
    await indexPast(db);
    for (const { indexdef } of indexes) await db.query(indexdef);
    await db.query('vacuum analyze');
  } finally {
    await db.end();
  }
}

/** An index over documents is built much faster than it grows. */
async function dropPayloadIndexes(db: pg.Client): Promise<{ indexdef: string }[]> {
  const { rows } = await db.query<{ indexname: string; indexdef: string }>(
    `select indexname, indexdef from pg_indexes where tablename = 'job_search' and indexdef like '%USING gin%'`,
  );
  for (const { indexname } of rows) await db.query(`drop index ${indexname}`);
  return rows;
}
