import type { Verdict } from './checker/index.ts';
import type { Run } from './records.ts';

/** The results of a run, in numbers. */
export interface Summary {
  name: string;
  seed: number;
  seconds: number;
  /** Why the faults ended early, if they did. */
  failure: string | null;
  /** From the end of the faults until the last job had ended. */
  drainSeconds: number;
  published: number;
  /** Publishes of which the client cannot know whether they were stored. */
  indeterminate: number;
  refused: number;
  delivered: number;
  deliveries: number;
  /** Deliveries beyond the first of an attempt. Those after a receiver's reset are sent again on purpose. */
  duplicates: number;
  resets: number;
  replayed: number;
  reports: number;
  faults: Record<string, { count: number; hitWork: number }>;
  violations: Record<string, number>;
  examples: string[];
  lost: number;
  recoveryMs: Record<string, { jobs: number; median: number; worst: number }>;
  /** From the end of a fault's cause until work went on, or a silent connection was replaced. */
  resumedMs: Record<string, { median: number; worst: number }>;
  /** Milliseconds that the slowest process took to end after SIGTERM; null when one had to be killed. */
  slowestExitMs: number | null;
  /** Milliseconds from each kill to the last job that was delivered again, in the order of the kills. */
  kills: number[];
}

/** Faults that are healed when what they broke works again. */
const RESUMED =
  /postgres$|-leader$|^switch-over$|^fail-over$|^went-back$|^read-only$|^disk-full$|^standby-hangs$|-gone$|^black-hole$|^stall-opening$|-away$/;

export function summarise(
  about: { name: string; seed: number; startedAt: number; healedAt: number; failure: string | null },
  run: Run,
  verdict: Verdict,
): Summary {
  const faults: Summary['faults'] = {};
  const resumed: Record<string, number[]> = {};
  for (const { kind, underWay, at, overAt = at, healedAt } of run.faults) {
    faults[kind] ??= { count: 0, hitWork: 0 };
    const counted = faults[kind];
    counted.count += 1;
    if (underWay > 0) counted.hitWork += 1;
    if (RESUMED.test(kind) && healedAt !== null) append(resumed, kind, healedAt - overAt);
  }
  const violations: Record<string, number> = {};
  for (const { id } of verdict.violations) violations[id] = (violations[id] ?? 0) + 1;
  const recovery: Record<string, number[]> = {};
  for (const { kind, ms } of verdict.recoveries) append(recovery, kind, ms);
  const ids = run.publishes.flatMap(({ id, outcome }) => (outcome === 'ok' && id !== null ? [id] : []));
  return {
    name: about.name,
    seed: about.seed,
    failure: about.failure,
    seconds: Math.round((Date.now() - about.startedAt) / 1000),
    drainSeconds: Math.round((Date.now() - about.healedAt) / 1000),
    published: new Set(ids).size,
    indeterminate: run.publishes.filter(({ outcome }) => outcome === 'indeterminate').length,
    refused: run.publishes.filter(({ outcome }) => outcome === 'fail').length,
    delivered: verdict.delivered,
    deliveries: run.deliveries.length,
    duplicates: verdict.duplicates,
    resets: run.deliveries.filter(({ end }) => end === 'reset').length,
    replayed: run.deadLetters.filter(({ replayedJobId }) => replayedJobId !== null).length,
    reports: run.reports.length,
    faults,
    violations,
    examples: verdict.violations.slice(0, 20).map(({ id, what }) => `${id}: ${what}`),
    lost: verdict.lost,
    recoveryMs: Object.fromEntries(
      Object.entries(recovery).map(([kind, times]) => [kind, { jobs: times.length, ...spread(times) }]),
    ),
    kills: killsOf(verdict),
    slowestExitMs: run.exits.reduce<number | null>(
      (most, { tookMs }) => (most === null || tookMs === null ? null : Math.max(most, tookMs)),
      0,
    ),
    resumedMs: Object.fromEntries(Object.entries(resumed).map(([kind, times]) => [kind, spread(times)])),
  };
}

function killsOf({ recoveries }: Verdict): number[] {
  const worst = new Map<number, number>();
  for (const { kind, at, ms } of recoveries) {
    if (kind === 'kill-worker') worst.set(at, Math.max(worst.get(at) ?? 0, ms));
  }
  return [...worst].sort(([a], [b]) => a - b).map(([, ms]) => Math.round(ms));
}

function append(lists: Record<string, number[]>, key: string, value: number): void {
  lists[key] ??= [];
  lists[key].push(value);
}

function spread(times: number[]): { median: number; worst: number } {
  const sorted = [...times].sort((a, b) => a - b);
  return { median: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0), worst: Math.round(sorted.at(-1) ?? 0) };
}
