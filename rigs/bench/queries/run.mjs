// Everything that docs/queries.md and docs/graphql.md have of a million jobs.
//
//   npm run rig queries [-- jobs]     1000000 by default
//
// First the questions of rigs/plans, which have a database of their own. For the scripts of this folder it starts a
// PostgreSQL and fills a database with seed.mjs. Prints Markdown, with the commit and the machine, and before each part
// how busy the machine was in the last minute.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../stage/postgres.mjs';

const [jobs = '1000000'] = process.argv.slice(2);
// The first brings the statistics up to date.
const SCRIPTS = ['dashboards', 'search', 'prices'];
const folder = import.meta.dirname;
const root = join(folder, '../../..');

const run = (env, command, ...args) =>
  execFileSync(command, args, { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'] });
const begin = (part) => console.log(`\n## ${part}, load ${loadavg()[0].toFixed(1)}\n`);

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
const [cpu] = cpus();
const date = new Date().toISOString().slice(0, 10);
console.log(`${date}, commit ${commit}, ${cpus().length} cores (${cpu.model}), Node.js ${process.versions.node}`);

begin('questions');
run({ PLANS_JOBS: jobs }, 'npm', 'run', 'rig', 'plans', '--', 'rigs/plans/questions.plans.ts');

const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-queries-'));
const server = await startPostgres(dataDir);
try {
  const env = { DATABASE_URL: await server.createDatabase('queries') };
  run(env, process.execPath, 'dist/main.js', 'migrate');
  run(env, process.execPath, join(folder, 'seed.mjs'), jobs);
  for (const script of SCRIPTS) {
    begin(script);
    run(env, process.execPath, join(folder, `${script}.mjs`));
  }
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true });
}
