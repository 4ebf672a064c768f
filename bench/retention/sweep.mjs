import { Database } from '../../dist/db/connection/database.js';
import { isLastBatch, sweepById, sweepsBelow } from '../../dist/db/retention/sweep.js';
import { median, round } from '../measure/statistics.mjs';

const quiet = { warn: () => undefined };

/** The service's own sweep, counted and timed. */
export function openSweep(url, history) {
  const db = new Database(url, quiet);
  return {
    /**
     * Removes the first `jobs` jobs of a history, or as many as it manages in so many seconds; `only` one of its
     * statements. `alwaysFromStart`: as if it did not know how far it has come.
     */
    async run({ jobs, seconds = Number.POSITIVE_INFINITY, only, alwaysFromStart = false, isOver = () => false }) {
      const record = { removed: {}, ms: {} };
      const counting = {
        async query(statement, values) {
          if (only !== undefined && statement.name !== only) return [];
          const startedAt = performance.now();
          const rows = await db.query(statement, values);
          record.removed[statement.name] = (record.removed[statement.name] ?? 0) + Number(rows[0]?.swept ?? 0);
          (record.ms[statement.name] ??= []).push(performance.now() - startedAt);
          return rows;
        },
        async one(statement, values) {
          return (await this.query(statement, values))[0] ?? null;
        },
      };
      const startedAt = performance.now();
      const isTime = () => performance.now() - startedAt > seconds * 1000 || isOver();
      const now = Date.now();
      const periods = { retentionMs: retentionOf(history, jobs), lifetimeMs: 1 };
      const below = sweepsBelow(now, periods);
      for (const what of ['jobs', 'documents']) {
        let after = '';
        while (!isTime()) {
          const batch = await sweepById(counting, what, { after, below }, now, periods);
          if (isLastBatch(batch)) break;
          after = alwaysFromStart ? '' : batch.last;
        }
      }
      return { ...record, seconds: (performance.now() - startedAt) / 1000 };
    },
    close: () => db.close(),
  };
}

/** Such that the jobs to remove are what is older. */
function retentionOf({ startedAt, stepMs }, jobs) {
  return Date.now() - (startedAt + jobs * stepMs);
}

/** Batches at the beginning and at the end tell whether what was removed already stands in the way. */
export function sweepSummary({ removed, ms, seconds }, statement = 'sweep-jobs') {
  const times = ms[statement] ?? [];
  const some = Math.max(1, Math.min(20, Math.floor(times.length / 4)));
  const rows = removed[statement] ?? 0;
  return {
    removed: rows,
    removedPerSecond: Math.round(rows / seconds),
    batchMs: {
      first: round(median(times.slice(0, some)), 1),
      // The last one may not be full.
      last: round(median(times.slice(-some - 1, -1).concat(times.length === 1 ? times : [])), 1),
      max: round(Math.max(...times), 1),
    },
  };
}
