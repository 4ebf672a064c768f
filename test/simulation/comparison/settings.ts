import { columnOf } from '../../../src/db/rows.ts';
import { QUEUE_DEFAULTS, type QueueSettings } from '../../../src/domain/queue.ts';
import { type BreakerRow, breakerOf } from '../model/breaker.ts';
import type { Tables } from '../model/tables.ts';
import type { Random } from '../random.ts';
import type { Side } from './operations.ts';

export function anySettings(random: Random): Omit<QueueSettings, 'webhookUrl'> {
  return {
    ...QUEUE_DEFAULTS,
    maxAttempts: random.int(1, 3),
    maxDefers: random.int(0, 2),
    concurrency: random.int(1, 4),
    dlqEnabled: random.chance(0.7),
    mode: random.pick(['standard', 'ack']),
    rateLimitMax: random.chance(0.6) ? null : random.int(1, 3),
    rateLimitWindow: random.pick([0.3, 1, 4]),
    ackTimeout: random.pick([0.5, 3]),
    ackTimeoutAction: random.pick(['retry', 'dead']),
    backoffType: random.pick(['fixed', 'exponential']),
    backoffDelay: random.pick([0, 1, 20]),
  };
}

export function columnsOf(settings: Partial<QueueSettings>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [columnOf(name), value]));
}

/** Half of the queues have none. */
export function anyBreaker(random: Random): BreakerRow {
  if (random.chance(0.5)) return breakerOf();
  return breakerOf({ failures: random.pick([null, 2, 3]), seconds: random.pick([null, 1, 3]) });
}

export async function editBoth(sql: Side, tables: Tables, model: Side, n: number, patch: Partial<QueueSettings>) {
  const columns = columnsOf(patch);
  const text = Object.keys(columns).map((name, i) => `${name} = $${i + 2}`);
  await sql.db.query(`update queue set ${text.join(', ')} where id = $1`, [sql.queueIds[n], ...Object.values(columns)]);
  Object.assign(tables.queues.get(model.queueIds[n] ?? '') ?? {}, patch);
}
