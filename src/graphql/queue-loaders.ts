import DataLoader from 'dataloader';
import type { Account } from '../domain/account.ts';
import type { QueueHealth } from '../domain/health.ts';
import { isOfLastHour, type TimelinePoint } from '../domain/statistics.ts';
import type { QueueDepth, QueueRow, QueueState, QueueTimelineInput, QueueUse } from '../services/insight/queues.ts';
import type { Receiver, ReceiverHealth } from '../services/insight/receivers.ts';
import type { SeveralQueues } from '../services/queues/several.ts';
import type { ServerFacts } from '../services/server/facts.ts';
import type { ServicesOfRequest } from '../services/services.ts';
import type { Selection } from './selection.ts';
import { type TimelineArgs, toTimeline } from './timeline-range.ts';

/** Loads one value of each queue, of live queues of the account only. */
interface LoaderByQueue<Value> {
  load(queueId: string): Promise<Value>;
  loadMany(queueIds: readonly string[]): Promise<(Value | Error)[]>;
}

export interface QueueLoaders {
  depth: LoaderByQueue<QueueDepth | null>;
  use: LoaderByQueue<QueueUse | null>;
  /** Ids of the jobs of the last hold, as far as they have not been removed. */
  holdJobs: LoaderByQueue<QueueState['holdJobs']>;
  health: LoaderByQueue<QueueHealth | null>;
  /** @param published whether the published jobs are counted */
  timeline(args: TimelineArgs, published: boolean): LoaderByQueue<TimelinePoint[] | null>;
  publishedLastMinute: LoaderByQueue<number | null>;
  /** Rows of queues; of deleted ones, too. */
  queue: DataLoader<string, QueueRow | null>;
  /** Queues that are loaded next are read together with what is selected of them, which the other loaders then have. */
  selectOfQueues(selection: Selection): void;
  /** Reads the live queue with a name in the same way. */
  queueOfName(name: string): Promise<QueueRow | null>;
  /** How receivers answered in the last hour. */
  receiverHealth: DataLoader<Receiver, ReceiverHealth | null, string>;
  /** Number of pending jobs of the queues that a change of several queues has changed or would change. */
  waitingOfSeveral: DataLoader<SeveralQueues, { count: number; exact: boolean }>;
}

type Part = 'depth' | 'use' | 'health' | 'publishedLastMinute';
/** Parts of the state by the fields that need them. */
const PART_OF: Readonly<Record<string, Part>> = {
  depth: 'depth',
  oldestDueSeconds: 'depth',
  inFlight: 'use',
  rateWindow: 'use',
  hold: 'use',
  health: 'health',
  publishedLastMinute: 'publishedLastMinute',
};

interface Chart {
  args: TimelineArgs;
  published: boolean;
}

interface Key {
  queueId: string;
  /** A part of the state, or a chart. */
  of: Part | 'holdJobs' | Chart;
}

/**
 * Loads the state and the statistics of queues. What the fields of one response need at the same time is read with one
 * statement, except charts that begin before the last hour, which requests of an account share for a second.
 */
export function createQueueLoaders(
  { services, server }: { services: ServicesOfRequest; server: () => Promise<ServerFacts> },
  account: Account,
): QueueLoaders {
  const values = new DataLoader<Key, unknown, string>((keys) => read({ services, server, account }, keys), {
    cacheKeyFn: textOf,
  });
  const by = <Value>(of: Key['of']): LoaderByQueue<Value> => ({
    load: (queueId) => values.load({ queueId, of }) as Promise<Value>,
    loadMany: (ids) => values.loadMany(ids.map((queueId) => ({ queueId, of }))) as Promise<(Value | Error)[]>,
  });
  const selected = new Set<Part>();
  const rows = async (ids: readonly string[], names: readonly string[] = []): Promise<QueueRow[]> => {
    const parts = [...selected];
    selected.clear();
    const states = await services.insight.states(account, ids, { names, parts: ['row', ...parts] });
    for (const [queueId, state] of states) {
      for (const part of parts) values.prime({ queueId, of: part }, state[part]);
      if (parts.includes('use')) values.prime({ queueId, of: 'holdJobs' }, state.holdJobs);
    }
    return [...states.values()].flatMap(({ row }) => row ?? []);
  };
  const queue = new DataLoader<string, QueueRow | null>(async (ids) => {
    const found = new Map((await rows(ids)).map((row) => [row.id, row]));
    return ids.map((id) => found.get(id) ?? null);
  });
  return {
    depth: by('depth'),
    use: by('use'),
    holdJobs: by('holdJobs'),
    health: by('health'),
    timeline: (args, published) => by({ args, published }),
    publishedLastMinute: by('publishedLastMinute'),
    queue,
    receiverHealth: new DataLoader(
      async (receivers: readonly Receiver[]) => {
        const healths = await services.receivers.healths(account, receivers);
        return receivers.map(({ host }) => healths.get(host) ?? null);
      },
      { cacheKeyFn: ({ host }) => host },
    ),
    waitingOfSeveral: new DataLoader((changes) =>
      Promise.all(changes.map(({ queues }) => services.queues.waitingOf(account, changedIn(queues)))),
    ),
    selectOfQueues(selection) {
      for (const name of selection.names) {
        const part = PART_OF[name];
        if (part !== undefined) selected.add(part);
      }
    },
    async queueOfName(name) {
      const [row] = await rows([], [name]);
      if (row !== undefined) queue.prime(row.id, row);
      return row ?? null;
    },
  };
}

function changedIn(queues: SeveralQueues['queues']): string[] {
  return queues.flatMap(({ id, outcome }) => (id !== null && outcome === 'changed' ? [id] : []));
}

function textOf({ queueId, of }: Key): string {
  return `${queueId} ${typeof of === 'string' ? of : JSON.stringify(of)}`;
}

interface Source {
  services: ServicesOfRequest;
  server: () => Promise<ServerFacts>;
  account: Account;
}

/** The parts that are asked of one or more queues. */
interface Question {
  parts: ReadonlySet<Part>;
  charts: readonly Chart[];
  queueIds: string[];
}

async function read(source: Source, keys: readonly Key[]): Promise<unknown[]> {
  const found = new Map<string, unknown>();
  const charts = await chartsOf(source, keys);
  const note = (queueIds: readonly string[], of: Key['of'], answerOf: (queueId: string) => unknown) => {
    for (const queueId of queueIds) found.set(textOf({ queueId, of }), answerOf(queueId));
  };
  await Promise.all([
    ...questionsOf(keys, charts).map(async ({ parts, charts: wanted, queueIds }) => {
      const recent = wanted.flatMap((chart) => charts.get(JSON.stringify(chart))?.input ?? []);
      const states = await orError(
        source.services.insight.states(source.account, queueIds, { parts: [...parts], recent }),
      );
      const answerOf = (queueId: string, of: (state: QueueState) => unknown) => {
        if (states instanceof Error) return states;
        const state = states.get(queueId);
        return state === undefined ? null : of(state);
      };
      for (const part of parts) note(queueIds, part, (id) => answerOf(id, (state) => state[part]));
      note(queueIds, 'holdJobs', (id) => answerOf(id, ({ holdJobs }) => holdJobs));
      for (const [n, chart] of wanted.entries())
        note(queueIds, chart, (id) => answerOf(id, (state) => state.recent[n] ?? null));
    }),
    ...[...charts.values()].map(async ({ chart, input, isRecent, queueIds }) => {
      if (isRecent) return;
      const timelines = await orError(source.services.insight.timelines(source.account, queueIds, input));
      note(queueIds, chart, (id) => (timelines instanceof Error ? timelines : (timelines.get(id) ?? null)));
    }),
  ]);
  return keys.map((key) => found.get(textOf(key)) ?? null);
}

interface ResolvedChart {
  chart: Chart;
  input: QueueTimelineInput;
  /** Whether it is read with the state. */
  isRecent: boolean;
  queueIds: string[];
}

async function chartsOf({ server }: Source, keys: readonly Key[]): Promise<Map<string, ResolvedChart>> {
  const charts = new Map<string, ResolvedChart>();
  let counted: string | null = null;
  for (const { queueId, of: chart } of keys) {
    if (typeof chart === 'string') continue;
    const key = JSON.stringify(chart);
    const present = charts.get(key);
    if (present !== undefined) {
      present.queueIds.push(queueId);
      continue;
    }
    const { now } = await server();
    const input = { ...toTimeline(chart.args, now), published: chart.published };
    // One statement counts the published jobs of one chart.
    const isRecent = isOfLastHour(input, now.getTime()) && (!chart.published || counted === null);
    if (isRecent && chart.published) counted = key;
    charts.set(key, { chart, input, isRecent, queueIds: [queueId] });
  }
  return charts;
}

/** Groups queues of which the same is asked. */
function questionsOf(keys: readonly Key[], charts: ReadonlyMap<string, ResolvedChart>): Question[] {
  const wanted = new Map<string, { parts: Set<Part>; charts: Map<string, Chart> }>();
  for (const { queueId, of } of keys) {
    const ofQueue = wanted.get(queueId) ?? { parts: new Set(), charts: new Map() };
    if (typeof of === 'string') ofQueue.parts.add(of === 'holdJobs' ? 'use' : of);
    else if (charts.get(JSON.stringify(of))?.isRecent === true) ofQueue.charts.set(JSON.stringify(of), of);
    else continue;
    wanted.set(queueId, ofQueue);
  }
  const questions = new Map<string, Question>();
  for (const [queueId, { parts, charts: recent }] of wanted) {
    const key = [...[...parts].sort(), ...[...recent.keys()].sort()].join(' ');
    const question = questions.get(key) ?? { parts, charts: [...recent.values()], queueIds: [] };
    question.queueIds.push(queueId);
    questions.set(key, question);
  }
  return [...questions.values()];
}

/** A failure belongs to the fields that asked for this, and not to those that are loaded at the same time. */
async function orError<T>(answer: Promise<T>): Promise<T | Error> {
  try {
    return await answer;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
