import { round } from '../measure/statistics.mjs';

/** The figures that the decision is about, as Markdown. */
export function tablesOf({ small, large }) {
  return [sweepTable(small, large), loadTable(small, large), cyclesTable(small), dropTable(large)].join('\n\n');
}

function sweepTable(small, large) {
  const row = (what, { removedPerSecond, serverCpuPerJob, walPerJob, batchMs }) => [
    what, removedPerSecond ?? '', serverCpuPerJob, walPerJob, batchMs ? `${batchMs.first} / ${batchMs.last} / ${batchMs.max}` : '',
  ];
  const of = ({ rows, deletes: { sweepAlone } }) => [
    row(`${rows}: jobs and attempts`, sweepAlone.jobs),
    ...(sweepAlone.documents ? [row(`${rows}: search documents`, sweepAlone.documents)] : []),
    ...Object.entries(sweepAlone.vacuum).map(([table, figures]) => row(`${rows}: vacuum of ${table} after it`, figures)),
  ];
  const { fromStart, fromPosition } = large.deletes.oldSnapshot;
  return table('Sweep alone', ['Rows', 'removed/s', 'CPU µs per job', 'WAL bytes per job', 'batch of 500, ms: first / last / max'], [
    ...of(small), ...of(large),
    row(`${large.rows}: beside an old snapshot`, fromPosition),
    row(`${large.rows}: the same, if each batch began at the low end`, fromStart),
  ]);
}

function loadTable(small, large) {
  const row = (what, { jobsPerSecond, backendCpuPerJob: cpu, serverCpuPerJob, ms }) => [
    what, jobsPerSecond, `${cpu.publish} + ${cpu.claim} + ${cpu.settle} = ${cpu.sum}`, serverCpuPerJob,
    `${ms.batch.p50} / ${ms.batch.p99} / ${ms.batch.max}`,
  ];
  const of = ({ rows, deletes, partitions }) => [
    row(`${rows}, a table`, deletes.alone),
    ...(deletes.besideSweep ? [row(`${rows}, beside a sweep of ${deletes.besideSweep.removedPerSecond}/s`, deletes.besideSweep)] : []),
    ...Object.entries(partitions).map(([count, { alone }]) => row(`${rows}, ${count} partitions`, alone)),
    ...(deletes.keyed ? [row(`${rows}, a table, with keys`, deletes.keyed)] : []),
    ...Object.entries(partitions).flatMap(([count, { keyed }]) => (keyed ? [row(`${rows}, ${count} partitions, with keys`, keyed)] : [])),
  ];
  const head = ['Rows', 'jobs/s', 'CPU µs per job: publish + claim + settle', 'of the server', 'batch of 40, ms: p50 / p99 / max'];
  return table('One connection', head, [...of(small), ...of(large)]);
}

function cyclesTable({ rows, deletes, partitions }) {
  const all = [
    [`${rows}, a table`, deletes],
    ...Object.entries(partitions).flatMap(([count, figures]) => (figures.cycles ? [[`${rows}, ${count} partitions`, figures]] : [])),
  ];
  const line = ({ job, attempt }) => `${job.heap} + ${job.indexes}, ${attempt.heap} + ${attempt.indexes} (${job.dead} dead)`;
  return table(
    'Five cycles: a fifth published, a fifth removed',
    ['Rows', 'CPU µs per job, removal and vacuum included', 'WAL bytes per job', 'jobs/s', 'removing, s', 'MB of job and attempt, heap + indexes: before and after each cycle'],
    all.map(([what, { cycles }]) => [
      what, cycles.serverCpuPerJob, cycles.walPerJob, cycles.jobsPerSecond, round(cycles.removeMs / 1000, 1), cycles.states.map(line).join(' → '),
    ]),
  );
}

function dropTable({ partitions }) {
  const rows = Object.entries(partitions).flatMap(([count, { rowsPerPartition, drop, detach, besideReader }]) => [
    [`drop (${count} partitions of ${rowsPerPartition} rows)`, drop.ms, drop.serverCpuPerJob, drop.walPerJob, besideReader.drop.ms, besideReader.drop.batch.max],
    ['detach concurrently, then drop', detach.ms, detach.serverCpuPerJob, detach.walPerJob, besideReader.detach.ms, besideReader.detach.batch.max],
  ]);
  return table('Removing a partition of each table', ['How', 'ms', 'CPU µs', 'WAL bytes', 'ms beside a reader of 2 s', 'longest batch meanwhile, ms'], rows);
}

function table(title, head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [`**${title}**`, '', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
