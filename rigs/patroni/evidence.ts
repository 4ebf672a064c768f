import { describePhase, originRows, totalsOf, type versionsWith, writeReport } from '../chaos/evidence.ts';
import type { Summary } from '../chaos/summary.ts';
import type { Freeze } from './faults.ts';
import type { Noticed } from './outages.ts';

export interface TrialEvidence {
  /** At the start: the files may change while the trial runs. */
  versions: Awaited<ReturnType<typeof versionsWith>> | null;
  seed: number;
  counts: Record<string, number>;
  perSecond: number;
  /** The checked phases. A freeze after which the cluster went back is not one of them. */
  phases: Summary[];
  outages: Noticed[];
  freezes: Freeze[];
}

/** Writes the results of the trial: figures only, no path and no machine. */
export async function writeTrial({ versions, ...evidence }: TrialEvidence): Promise<void> {
  if (versions === null) return;
  const date = new Date().toISOString().slice(0, 10);
  const about = { ...versions, ...evidence };
  const totals = totalsOf(evidence.phases);
  const text = `# Failovers of a Patroni cluster, ${date}

Written by \`npm run rig patroni\`. Three servers, \`ttl 20, loop_wait 5,
retry_timeout 5\`, \`synchronous_mode: true\`, no watchdog, no proxy: two API processes and two workers have all three hosts in
\`DATABASE_URL\`. A kill ends Patroni and PostgreSQL of the leader at once; a freeze stops both (\`SIGSTOP\`) until another server has been
the leader for 15 s. The invariants are those of \`npm run rig chaos\`.

| | |
|---|---|
${originRows(about)}
| Load | ${about.perSecond} jobs or key races per second |

**Lost: ${totals.lost + lostAtReturns(evidence)}. Violations: ${totals.violations}.** ${totals.published} jobs were accepted and ${totals.delivered} delivered, in
${totals.deliveries} deliveries, of which ${totals.duplicates} were repeated. ${restarted(evidence)}${returned(evidence)}

## What clients noticed

Numbers of publishes, and times in milliseconds. A refusal is a 503; some clients of this load repeat it every 0.25 s. "After the leader": after a server took writes again, to 50 ms.

| Fault | No leader | Publishes refused | Without an answer | Last of them sent, after the leader | Longest answer | First accepted, after the leader | First delivery, after the leader |
|---|---|---|---|---|---|---|---|
${evidence.outages.map(line).join('\n')}

## Frozen leaders

| Took writes again for | Fenced after | The cluster |
|---|---|---|
${evidence.freezes.map(freezeLine).join('\n')}

${evidence.phases.map(describePhase).join('\n')}`;
  await writeReport(`${date}-patroni`, text);
}

function line(one: Noticed): string {
  const { kind, leaderless, refused, unanswered, longestWait, ...after } = one;
  const { refusedAfterLeader, acceptedAfterLeader, deliveredAfterLeader } = after;
  const cells = [
    leaderless,
    refused,
    unanswered,
    refusedAfterLeader,
    longestWait,
    acceptedAfterLeader,
    deliveredAfterLeader,
  ];
  return `| ${kind} | ${cells.map((cell) => cell ?? 'never').join(' | ')} |`;
}

function freezeLine({ tookWritesMs, fencedMs, wentBack }: Freeze): string {
  const then =
    wentBack === null
      ? 'kept its new leader'
      : `**went back from timeline ${wentBack.from} to ${wentBack.to}, and lost ${wentBack.lostByCluster} accepted jobs**; \`/readyz\`: ${wentBack.said ?? 'nothing'}`;
  return `| ${tookWritesMs} | ${fencedMs} | ${then} |`;
}

function restarted({ phases }: Pick<TrialEvidence, 'phases'>): string {
  const exits = phases.reduce((sum, { faults }) => sum + (faults['unexpected-exit']?.count ?? 0), 0);
  return exits === 0
    ? 'No process was restarted during these.'
    : `**Processes that ended by themselves and were started again: ${exits}.**`;
}

function lostAtReturns({ freezes }: Pick<TrialEvidence, 'freezes'>): number {
  return freezes.reduce((sum, { wentBack }) => sum + (wentBack?.lost ?? 0), 0);
}

function returned({ freezes }: Pick<TrialEvidence, 'freezes'>): string {
  const returns = freezes.flatMap(({ wentBack }) => wentBack ?? []);
  if (returns.length === 0) return '';
  const gone = returns.reduce((sum, { lostByCluster }) => sum + lostByCluster, 0);
  return `

In ${returns.length} of ${freezes.length} freezes the cluster itself went back to the frozen leader, and **dropped ${gone} jobs that had been accepted while its new leader was
in office**. Jobferry refused that database until its processes were restarted, as docs/operations.md says. These runs are not among the checked ones.`;
}
