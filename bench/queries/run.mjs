// Everything that docs/queries.md and docs/graphql.md have of a million jobs, except the questions of `npm run plans`.
//
//   npm run build && node bench/queries/run.mjs [jobs] [script …]     1000000 dashboards prices search by default
//
// Starts a PostgreSQL of its own, fills a database with seed.mjs, and runs the scripts one after another. Prints their
// Markdown, with the commit and the machine, and before each script how busy the machine was in the last minute.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../stage/postgres.mjs';

const [jobs = '1000000', ...scripts] = process.argv.slice(2);
const folder = import.meta.dirname;
const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-queries-'));
const server = await startPostgres(dataDir);
try {
  const env = { ...process.env, DATABASE_URL: await server.createDatabase('queries') };
  const run = (...args) => execFileSync(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
  const [cpu] = cpus();
  console.log(
    `${new Date().toISOString().slice(0, 10)}, commit ${commit}, ${cpus().length} cores (${cpu.model}), ` +
      `Node.js ${process.versions.node}, PostgreSQL ${server.settings.server_version}`,
  );
  run(join(folder, '../../dist/main.js'), 'migrate');
  run(join(folder, 'seed.mjs'), jobs);
  // dashboards.mjs comes first: it brings the statistics up to date.
  for (const script of scripts.length > 0 ? scripts : ['dashboards', 'prices', 'search']) {
    console.log(`\n## ${script}, load ${loadavg()[0].toFixed(1)}\n`);
    run(join(folder, `${script}.mjs`));
  }
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true });
}
