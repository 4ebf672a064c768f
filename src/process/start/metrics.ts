import type { RequestListener } from 'node:http';
import type { ClockWatch } from '../../db/connection/clock-watch.ts';
import type { Listener } from '../../db/connection/notifications.ts';
import type { Replica } from '../../db/connection/replica.ts';
import type { Load } from '../../http/index.ts';
import { openMetrics } from '../../telemetry/metrics/index.ts';
import type { Worker } from '../../worker/index.ts';
import { COMMIT, VERSION } from '../version.ts';
import type { Foundations } from './foundations.ts';

interface MetricsSources {
  listener: Listener;
  worker: Worker | null;
  clock: ClockWatch;
  retentionMs: number;
  replica: Replica | null;
  /** Null for a process without the API. */
  load: Load | null;
}

/** @returns what serves the metrics of this process */
export function startMetrics(
  { config, log, database: { db }, started }: Foundations,
  { listener, worker, clock, retentionMs, replica, load }: MetricsSources,
): RequestListener {
  const { role, workerCapacity: capacity } = config;
  const stateOf = (of: Worker) => ({
    inFlight: of.inFlight(),
    lockedQueues: of.lockedQueues(),
    capacity,
    delivers: of.problem() === null && of.keyProblem() === null,
  });
  const process = {
    version: VERSION,
    commit: COMMIT ?? '',
    role,
    worker: () => (worker === null ? null : stateOf(worker)),
    requests: () =>
      load === null ? null : { runningPublishes: load.admission.running, unreadBytes: load.unread.bytes },
    replica: () => replica?.state ?? null,
    clockOffsetSeconds: () => clock.offsetSeconds(),
  };
  const poolUse = () => [...db.poolUse(), ...(replica === null ? [] : [replica.use()])];
  const metrics = openMetrics({ ...config.metrics, db, log, listener, retentionMs, process, poolUse });
  started.add(async () => metrics.stop());
  return metrics.answer;
}
