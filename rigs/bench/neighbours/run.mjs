// The effect of one account on another: a quiet account's p99 from publish to arrival, alone and beside an attacker
// that uses one shared resource to the full (invariant I-40).
//
//   npm run build && node rigs/bench/neighbours/run.mjs [--only NAME,NAME] [--seconds 15] [--evidence FOLDER]
//
// One service process (role `all`) on a database of its own for each row of table.mjs. The attacker is a process of its
// own with lower priority, because real ones do not share the machine's cores. Exit code 1 when a row fails.
import { parseArgs } from 'node:util';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../stage/postgres.mjs';
import { judge, writeReport } from './report.mjs';
import { measure } from './measure.mjs';
import { TABLE } from './table.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '15' },
    evidence: { type: 'string' },
  },
});
const wanted = values.only?.split(',');
const rows = TABLE.filter(({ name }) => wanted === undefined || wanted.includes(name));
if (rows.length === 0) throw new Error(`--only takes names of: ${TABLE.map(({ name }) => name).join(', ')}`);

const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-neighbours-'));
const postgres = await startPostgres(dataDir);
const startedAt = new Date();
const results = [];
try {
  for (const row of rows) {
    const result = await measure(postgres, row, Number(values.seconds)).catch((error) => ({ error: error.stack }));
    const judged = { name: row.name, resource: row.resource, attack: row.attack, ...result };
    judged.faults = judge(judged);
    results.push(judged);
    const { name, alone, beside, memory, attacker, faults } = judged;
    console.log(JSON.stringify({ name, alone, beside, memory, attacker, faults }));
  }
} finally {
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
if (values.evidence !== undefined) await writeReport(values.evidence, { startedAt, settings: postgres.settings, results });
process.exit(results.some(({ faults }) => faults.length > 0) ? 1 : 0);
