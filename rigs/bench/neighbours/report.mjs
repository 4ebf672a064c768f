import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** I-40: p99 beside an attacker at most twice the p99 alone plus 50 ms, and nothing refused. */
const FACTOR = 2;
const MARGIN_MS = 50;
/** The memory that an attacker may make the service use, on top of what it used before. */
const MEMORY_MB = 300;

/** The faults of a row; empty when the quiet account noticed nothing. */
export function judge({ alone, beside, memory, error }) {
  if (error !== undefined) return [error];
  const faults = [];
  const bound = FACTOR * alone.p99 + MARGIN_MS;
  if (beside.p99 > bound) faults.push(`p99 ${beside.p99} ms, more than ${Math.round(bound)} ms`);
  for (const [status, times] of Object.entries(beside.refused)) faults.push(`${times} publishes answered ${status}`);
  if (beside.missing > 0) faults.push(`${beside.missing} jobs did not arrive`);
  const grown = Math.round(memory.after - memory.before);
  if (grown > MEMORY_MB) faults.push(`${grown} MB more memory, more than ${MEMORY_MB}`);
  return faults;
}

/** Writes the table. */
export async function writeReport(folder, { startedAt, settings, results }) {
  const commit = await promisify(execFile)('git', ['rev-parse', '--short', 'HEAD']).then(({ stdout }) => stdout.trim());
  const date = startedAt.toISOString().slice(0, 10);
  const about = { date, commit, node: process.version, postgresql: settings.server_version, cores: availableParallelism() };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${date}-neighbours.md`), describe(about, results));
}

function describe({ date, commit, node, postgresql, cores }, results) {
  const rows = results.map(({ name, resource, alone, beside, attacker, memory, faults, error }) => {
    if (error !== undefined) return `| ${name} | ${resource} | | | | | | did not run |`;
    const refused = Object.values(beside.refused).reduce((sum, n) => sum + n, 0);
    const answers = Object.entries(attacker).map(([status, n]) => `${status}: ${n}`);
    return `| ${name} | ${resource} | ${alone.p50} / ${alone.p99} | ${beside.p50} / ${beside.p99} | ${refused} | ${memory.before} / ${memory.after} / ${memory.peak} | ${answers.join(', ')} | ${faults.length === 0 ? 'yes' : `**no**: ${faults.join('; ')}`} |`;
  });
  return `# Neighbours, ${date}

Written by \`node rigs/bench/neighbours/run.mjs\`. A quiet account publishes
40 small jobs per second to a healthy webhook, each delivery on a new connection; milliseconds are from publish to arrival.
Each row is one service process (API and worker) on a database of its own, first with the quiet account alone, then beside
an attacker that uses one shared resource to the full. The bound (invariant I-40): p99 at most twice its p99 alone plus
50 ms, nothing refused, and at most 300 MB more memory at the end. [limits.md](../limits.md) names the bound of each resource.

Commit ${commit}, Node.js ${node}, PostgreSQL ${postgresql}, ${cores} cores, shared by service, database, attacker and load.

| Row | Resource that the attacker uses | Alone, p50 / p99 ms | Beside it, p50 / p99 ms | Refused | Service's memory before / after / peak, MB | The attacker's answers | Within the bound |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
}
