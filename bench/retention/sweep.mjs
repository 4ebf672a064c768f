import { Database } from '../../dist/db/database.js';
import { sweepRetention } from '../../dist/db/sweep.js';
import { median, round } from '../measure/statistics.mjs';

const quiet = { warn: () => undefined };

/** The service's own sweep, counted and timed. */
export function openSweep(url, history) {
  const db = new Database(url, quiet);
  return {
    /**
     * Removes the first `jobs` jobs of a history, or as many as it manages in so many seconds; `only` one of its
     * statements.
     */
    async run({ jobs, seconds = Number.POSITIVE_INFINITY, only, isOver = () => false }) {
      const record = { removed: {}, ms: {} };
      const counting = {
        async query(statement, values) {
          if (only !== undefined && statement.name !== only) return [];
          const startedAt = performance.now();
          const rows = await db.query(statement, values);
          record.removed[statement.name] = (record.removed[statement.name] ?? 0) + rows.length;
          (record.ms[statement.name] ??= []).push(performance.now() - startedAt);
          return rows;
        },
      };
      const startedAt = performance.now();
      const isTime = () => performance.now() - startedAt > seconds * 1000 || isOver();
      while (!isTime() && (await sweepRetention(counting, retentionOf(history, jobs)))) {
        // Batch after batch, as the service does.
      }
      return { ...record, seconds: (performance.now() - startedAt) / 1000 };
    },
    /** What it would be if each batch began where the one before has ended. */
    async runFromPosition({ jobs, seconds }) {
      const record = { removed: { 'sweep-jobs': 0 }, ms: { 'sweep-jobs': [] } };
      const startedAt = performance.now();
      let [position, count] = ['', 1];
      while (count > 0 && performance.now() - startedAt <= seconds * 1000) {
        const batchStartedAt = performance.now();
        const row = await db.one(FROM_POSITION, [retentionOf(history, jobs), position]);
        [position, count] = [row.last, row.count];
        record.removed['sweep-jobs'] += count;
        record.ms['sweep-jobs'].push(performance.now() - batchStartedAt);
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

const FROM_POSITION = {
  name: 'sweep-jobs-from-position',
  text: `
    with swept as (
      delete from job where id = any (array(
        select id from job where id > $2 and id < jobferry_first_id((select jobferry_now()) - $1 * interval '1 ms')
         order by id limit 500 for update skip locked))
      returning id
    ), attempts as (
      delete from attempt where job_id = any (array(select id from swept))
    )
    select max(id) as last, count(*)::integer as count from swept`,
};

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
