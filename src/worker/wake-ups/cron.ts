import { type ParsedCronItem, parseCronItems } from 'graphile-worker';
import type { Database } from '../../db/connection/database.ts';
import type { Logger } from '../../telemetry/log.ts';

type Pool = Database['sessionPool'];

const MINUTE_MS = 60_000;
const MINUTES_OF_DAY = 24 * 60;
/** A row that is written later than this is left out. */
const LATEST_MINUTES = 5;

/**
 * The schedule of graphile-worker: `retention` once per period of the sweep, in whole minutes. For each minute, only
 * one of all workers adds the row (graphile-worker's table of known crontabs). The clocks of the processes decide the
 * minute, so a wrong clock can keep the rows away. Then the loop sweeps.
 *
 * After the machine has slept or its clock has jumped, graphile-worker goes through all minutes in between. A sweep for
 * each of them would be useless, so only the last minutes get a row.
 */
export function sweepSchedule(everyMs: number, now = () => new Date()): ParsedCronItem[] {
  const minutes = Math.max(1, Math.ceil(everyMs / MINUTE_MS));
  const isDue = (minute: number) => {
    const time = now();
    const late = time.getUTCHours() * 60 + time.getUTCMinutes() - minute;
    return minute % minutes === 0 && (late + MINUTES_OF_DAY) % MINUTES_OF_DAY <= LATEST_MINUTES;
  };
  // Without a key: if a worker dies between the take and the end of its row, graphile-worker gives the row to another
  // one after four hours. With a key, the next row would turn it into a failed one, which stays in the table.
  return parseCronItems([{ task: 'retention', match: ({ hour, min }) => isDue(hour * 60 + min) }]);
}

/**
 * Returns a pool whose own `query` reports an error in the log and returns no rows. Only graphile-worker's cron uses
 * it; the rest takes connections. After an error the cron would sleep for up to a minute, and the end of the runner
 * would wait for that. The next minute is a retry as well.
 */
export function withoutCronErrors(pool: Pool, log: Logger): Pool {
  const query = async (...statement: [string | { text: string }, unknown[]?]): Promise<{ rows: unknown[] }> => {
    try {
      return await pool.query(...statement);
    } catch (error) {
      log.warn({ err: error }, 'the wake-up of the retention sweep could not be written; the sweep runs without it');
      return { rows: [] };
    }
  };
  return new Proxy(pool, {
    get(target, name) {
      if (name === 'query') return query;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
