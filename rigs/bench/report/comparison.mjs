import { round, spread } from '../measure/statistics.mjs';
import { judged, rate, short } from './format.mjs';
import { notesOf } from './noise.mjs';

/** Tables of systems beside each other: medians of the rounds, with the range of the figures that matter. */
export function comparison(systems, turns, absent, aims, notes = []) {
  const summaries = systems.map((system) => summarise(system, turns));
  const tables = [
    {
      ...notesOf(turns.map((turn) => turn.cpuPerJob.others), ...notes),
      title: 'Medians of all rounds',
      head: ['System', 'jobs/s (min–max)', 'CPU µs per job (min–max)', 'of which', 'put off', 'publish p50 / p99 ms', 'arrival p50 / p99 ms', 'peak RSS MB', 'lost / twice', 'others busy'],
      rows: summaries.map((summary, n) => row(summary, absent[systems[n].name])),
    },
  ];
  const own = summaries.find(({ name, rounds }) => name === 'jobferry' && rounds > 0);
  if (own !== undefined && systems.length > 1) tables.push(ratios(own, summaries, aims));
  return tables;
}

function summarise({ name, label }, turns) {
  const own = turns.filter((turn) => turn.system === name);
  const of = (pick) => spread(own.map(pick));
  return {
    name,
    label,
    rounds: own.length,
    jobsPerSecond: of((turn) => turn.jobsPerSecond),
    cpu: of((turn) => turn.cpuPerJob.system),
    parts: Object.fromEntries(
      ['api', 'worker', 'postgres', 'redis'].map((part) => [part, of((turn) => turn.cpuPerJob[part])]).filter(([, value]) => value !== null),
    ),
    deferred: of((turn) => turn.cpuDeferredPerJob),
    publish: [of((turn) => turn.publish.p50), of((turn) => turn.publish.p99)],
    arrival: [of((turn) => turn.arrival.p50), of((turn) => turn.arrival.p99)],
    peakRss: of((turn) => Math.max(...Object.values(turn.peakRss))),
    lost: own.reduce((sum, turn) => sum + turn.check.lost, 0),
    duplicates: own.reduce((sum, turn) => sum + turn.check.duplicates, 0),
    others: of((turn) => turn.cpuPerJob.others),
  };
}

function row(summary, problem) {
  if (summary.rounds === 0) return [summary.label, `did not start: ${(problem ?? '').split('\n')[0]}`, ...Array(8).fill('')];
  const parts = Object.entries(summary.parts).map(([part, { median }]) => `${part} ${Math.round(median)}`);
  const pair = ([p50, p99]) => `${short(p50.median)} / ${short(p99.median)}`;
  return [
    summary.label,
    rate(summary.jobsPerSecond),
    rate(summary.cpu),
    parts.join(', '),
    short(summary.deferred.median),
    pair(summary.publish),
    pair(summary.arrival),
    short(summary.peakRss?.median ?? 0),
    `${summary.lost} / ${summary.duplicates}`,
    summary.others === null ? '' : `${Math.round(summary.others.median * 100)} %`,
  ];
}

function ratios(own, summaries, aims) {
  const rows = summaries
    .filter((summary) => summary !== own && summary.rounds > 0)
    .map((peer) => {
      const aim = aims.find((candidate) => candidate.peer === peer.name) ?? {};
      const throughput = own.jobsPerSecond.median / peer.jobsPerSecond.median;
      const cpu = own.cpu.median / peer.cpu.median;
      const withDeferred = (own.cpu.median + own.deferred.median) / (peer.cpu.median + peer.deferred.median);
      return [
        peer.label,
        judged(throughput, aim.throughput, throughput >= aim.throughput, '≥'),
        judged(cpu, aim.cpu, cpu <= aim.cpu, '≤'),
        `× ${round(withDeferred)}`,
      ];
    });
  return { title: 'Jobferry compared with', head: ['Peer', 'jobs/s', 'CPU per job', 'CPU with what was put off'], rows };
}
