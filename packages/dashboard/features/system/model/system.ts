import { many, number, span } from '../../../../query/words/format.ts';
import type { IconName, Signal } from '../../../../query/words/words.ts';
import { isSeen, SEEN_MS } from '../../../words/seen.ts';

/** Whether Jobferry itself is well: its processes, their versions, and how late deliveries are. */

export interface Instance {
  role: string;
  version: string;
  lastSeenAt: string;
  inFlight: number;
  capacity: number;
}

interface SystemHead {
  signal: Signal;
  icon: IconName;
  h1: string;
  lead: string;
}

export function headOfSystem(instances: readonly Instance[], now: number): SystemHead {
  if (instances.length === 0) {
    return {
      signal: 'ok',
      icon: 'system',
      h1: 'Jobferry is up.',
      lead: 'Only the operator’s account sees the processes, as they carry the load of all accounts.',
    };
  }
  const seen = instances.filter((one) => isSeen(one, now));
  const workers = seen.filter(({ role }) => role !== 'api');
  const versions = [...new Set(seen.map(({ version }) => version))].sort();
  const silent = instances.length - seen.length;
  if (workers.length === 0) {
    return {
      signal: 'bad',
      icon: 'failing',
      h1: 'No worker is running: jobs are accepted and wait.',
      lead: 'Start a process with the role worker or all. Nothing is lost meanwhile.',
    };
  }
  if (versions.length > 1) {
    return {
      signal: 'warn',
      icon: 'info',
      h1: `Processes of ${versions.length} versions are running: ${versions.join(', ')}.`,
      lead: 'This is fine during an upgrade. Stop the old ones afterwards.',
    };
  }
  const load = workers.reduce((sum, { inFlight }) => sum + inFlight, 0);
  const capacity = workers.reduce((sum, one) => sum + one.capacity, 0);
  const full = capacity > 0 && load >= capacity * 0.9;
  const running =
    seen.length === 1
      ? `1 process is running, version ${versions[0]}.`
      : `${number(seen.length)} processes are running, all version ${versions[0]}.`;
  if (full) {
    return {
      signal: 'warn',
      icon: 'growing',
      h1: `Workers are nearly full: ${number(load)} of ${number(capacity)} deliveries.`,
      lead: `${running} Add a worker.`,
    };
  }
  return {
    signal: silent > 0 ? 'warn' : 'ok',
    icon: silent > 0 ? 'info' : 'done',
    h1: running,
    lead:
      silent > 0
        ? `${many(silent, 'process was', 'processes were')} not seen for ${span(SEEN_MS)}: stopped or disconnected. Other workers take over the deliveries.`
        : `${many(workers.length, 'worker has', 'workers have')} ${many(load, 'delivery', 'deliveries')} in flight, of at most ${number(capacity)}.`,
  };
}

/** How far background work is behind, in seconds. */
interface Lags {
  searchSeconds: number | null;
  statisticsSeconds: number;
  wakeUpSeconds: number | null;
}

/** Statistics are summed up by spans of five minutes, some minutes after their end. */
const LATE = { search: 60, statistics: 1800, wakeUp: 5 };

interface Row {
  label: string;
  value: string;
  isLate: boolean;
  note: string;
}

/** One row for each kind of work: how far it is, whether that is too late, and what it means. */
export function lagRows({ searchSeconds, statisticsSeconds, wakeUpSeconds }: Lags): Row[] {
  const short = (seconds: number) => span(Math.max(1, Math.round(seconds)) * 1000);
  return [
    {
      label: 'Payloads in the search index',
      value: searchSeconds === null ? 'all of them' : `all but the last ${short(searchSeconds)}`,
      isLate: (searchSeconds ?? 0) > LATE.search,
      note: 'searches find the others too, more slowly',
    },
    {
      label: 'Attempts in the statistics',
      value: statisticsSeconds < 1 ? 'until now' : `until ${short(statisticsSeconds)} ago`,
      isLate: statisticsSeconds > LATE.statistics,
      note: 'charts contain the later ones too, more slowly',
    },
    {
      label: 'Wake-ups of workers',
      value:
        wakeUpSeconds === null
          ? 'none is due'
          : wakeUpSeconds < 1
            ? 'due for a moment'
            : `due for ${short(wakeUpSeconds)}`,
      isLate: (wakeUpSeconds ?? 0) > LATE.wakeUp,
      note: 'a worker that is not woken finds its jobs by polling',
    },
  ];
}

/** A row that names the sessions and the like that keep dead rows in the database. */
export function snapshotRow({ seesAll, holders }: { seesAll: boolean; holders: readonly { message: string }[] }): Row {
  const isLate = holders.length > 0;
  return {
    label: 'Old snapshots in the database',
    value: isLate ? holders.map(({ message }) => message).join('; ') : seesAll ? 'none' : 'not visible',
    isLate,
    note: seesAll ? (isLate ? 'vacuum keeps rows that died since' : '') : 'grant pg_read_all_stats to see all sessions',
  };
}

/** The queue whose oldest due job waits the longest. Paused queues wait by will. */
export function latest<Queue extends { paused: boolean; oldestDueSeconds: number | null }>(
  queues: readonly Queue[],
): Queue | null {
  const waiting = queues.filter(({ paused, oldestDueSeconds }) => !paused && (oldestDueSeconds ?? 0) > 0);
  return waiting.sort((a, b) => (b.oldestDueSeconds ?? 0) - (a.oldestDueSeconds ?? 0))[0] ?? null;
}
