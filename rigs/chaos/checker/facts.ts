import type {
  ChangeRow,
  DeadLetterRow,
  DeliveryRecord,
  HistoryRow,
  JobRow,
  PublishRecord,
  QueueRecord,
  ReplayRecord,
  ReportRecord,
  Run,
} from '../records.ts';
import { type Envelope, readEnvelope } from './envelope.ts';

/** A delivery with its parsed body. */
export interface Arrival extends DeliveryRecord {
  envelope: Envelope;
}

/** A run, indexed for the checks. Each list is in the order of time. */
export interface Facts {
  run: Run;
  queues: Map<string, QueueRecord>;
  queuesByName: Map<string, QueueRecord>;
  jobs: Map<string, JobRow>;
  arrivals: Map<string, Arrival[]>;
  /** Bodies that are no envelope. */
  unreadable: DeliveryRecord[];
  history: Map<string, HistoryRow[]>;
  changes: Map<string, ChangeRow[]>;
  publishes: Map<string, PublishRecord[]>;
  reports: Map<string, ReportRecord[]>;
  replays: Map<string, ReplayRecord[]>;
  deadLetters: Map<string, DeadLetterRow[]>;
}

export function establish(run: Run): Facts {
  const arrivals: Arrival[] = [];
  const unreadable: DeliveryRecord[] = [];
  for (const delivery of [...run.deliveries].sort((a, b) => a.at - b.at)) {
    const envelope = readEnvelope(delivery);
    if (envelope === null) unreadable.push(delivery);
    else arrivals.push({ ...delivery, envelope });
  }
  return {
    run,
    queues: new Map(run.queues.map((queue) => [queue.id, queue])),
    queuesByName: new Map(run.queues.map((queue) => [queue.name, queue])),
    jobs: new Map(run.jobs.map((job) => [job.id, job])),
    arrivals: groupBy(arrivals, ({ envelope }) => envelope.id),
    unreadable,
    history: groupBy(run.history, ({ jobId }) => jobId),
    changes: groupBy(run.changes, ({ jobId }) => jobId),
    publishes: groupBy(run.publishes, ({ id }) => id),
    reports: groupBy(run.reports, ({ jobId }) => jobId),
    replays: groupBy(run.replays, ({ deadLetterId }) => deadLetterId),
    deadLetters: groupBy(run.deadLetters, ({ jobId }) => jobId),
  };
}

export function groupBy<T>(items: T[], keyOf: (item: T) => string | null): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

export function isTerminal(status: string): boolean {
  return status === 'completed' || status === 'dead';
}

/** The history of a job in one text, for the report of a violation. */
export function story({ run, history, arrivals, changes }: Facts, id: string): string {
  const moves = (changes.get(id) ?? []).map(({ to, at, workerId }) => ({ at, what: `${to} ${workerId ?? ''}`.trim() }));
  const entries = (history.get(id) ?? []).map((entry) => ({
    at: entry.at,
    what: `entry ${entry.error ?? entry.status}`,
  }));
  const requests = (arrivals.get(id) ?? []).flatMap(({ at, endedAt, end, status, envelope }) => [
    { at, what: `request ${envelope.attempt}` },
    { at: endedAt ?? at, what: `${end} ${status ?? ''}` },
  ]);
  const all = [...moves, ...entries, ...requests].sort((a, b) => a.at - b.at);
  const [first, last] = [all[0]?.at ?? 0, all.at(-1)?.at ?? 0];
  for (const { kind, workerId, at, healedAt } of run.faults) {
    if ((healedAt ?? at) < first || at > last) continue;
    all.push({ at, what: `[${kind} ${workerId ?? ''}` }, { at: healedAt ?? at, what: `${kind} ${workerId ?? ''}]` });
  }
  all.sort((a, b) => a.at - b.at);
  return all.map(({ at, what }) => `${Math.round(at - first)} ms ${what}`).join(', ');
}

/**
 * Whether the receiver was too slow to see a request before its sender had given it up: the attempt had already ended
 * as one without an answer. On a busy machine that happens, and then the arrival does not show when the request was
 * sent.
 */
export function isSeenLate({ history }: Facts, { at, end, envelope }: Arrival): boolean {
  const ended = (history.get(envelope.id) ?? []).filter((entry) => entry.at <= at && entry.code === null);
  return end === 'cut' && ended.some(({ attempt }) => attempt === envelope.attempt);
}
