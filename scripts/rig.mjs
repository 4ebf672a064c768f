// `npm run rig` lists the rigs: what a person starts, or what takes minutes or hours. `npm run rig chaos` runs one;
// options for it follow `--`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const BUILD = ['scripts/build.mjs'];
const TOOLS = 'rigs/packages/tools';
/** The packages that only these tests need, and their types. */
const INSTALL_TOOLS = [
  ['npm', '--prefix', TOOLS, 'ci', '--no-audit', '--no-fund'],
  ['node_modules/typescript/bin/tsc', '-b', '--noEmit', TOOLS],
];
const project = (name, ...files) => [
  ...['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.runs.config.ts', '--project', name],
  ...files,
];

/** The commands of each rig, one after the other: programs of Node, or npm. The last one gets the options. */
const RIGS = {
  chaos: ['faults by the hundred, and a checker of what happened; two hours', BUILD, project('chaos')],
  dashboard: ['times and costs of the dashboard in a browser, with a million jobs', BUILD, project('dashboard')],
  fuzz: ['generated input, with another seed each time', BUILD, project('fuzz')],
  matrix: ['the tests on each version of Node and PostgreSQL', ['scripts/test-matrix.mjs']],
  packages: ['the packages, installed into fresh projects', BUILD, ...INSTALL_TOOLS, project('packages')],
  pairs: ['the CPU of a job beside the best build so far; a machine at rest', BUILD, ['rigs/bench/pairs/run.mjs']],
  patroni: ['failovers of a Patroni cluster', BUILD, project('patroni')],
  plans: ['the plan of every statement, with a million jobs', project('plans')],
  queries: ['times of searches and dashboards, with a million jobs', BUILD, ['rigs/bench/queries/run.mjs']],
  repeat: ['npm test 20 times, under load, elsewhere, on one core; two hours', ['scripts/repeat-tests.mjs']],
  screenshots: ['the pictures of docs/dashboard', BUILD, project('screenshots')],
  tools: [
    'what needs packages of its own: bundles, workers, an OpenTelemetry SDK',
    ...INSTALL_TOOLS,
    project('packages', TOOLS),
  ],
  trials: ['the service as an operator runs it, under load', BUILD, project('trials')],
  upgrade: ['an earlier build beside this one', BUILD, project('upgrade')],
  weigh: ['the costs of a job, in counts', BUILD, project('weigh')],
};

const [name = '', ...options] = process.argv.slice(2);
const [, ...steps] = RIGS[name] ?? [];
if (steps.length === 0) {
  const lines = Object.entries(RIGS).map(([each, [about]]) => `  ${each.padEnd(12)} ${about}`);
  if (name !== '') console.error(`There is no rig "${name}".\n`);
  console.log(`npm run rig NAME [-- OPTIONS]\n\n${lines.join('\n')}`);
  process.exit(name === '' ? 0 : 1);
}

let child = null;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child?.kill(signal));
for (const [n, [program, ...args]] of steps.entries()) {
  const more = n === steps.length - 1 ? options : [];
  const code = await run(program, [...args, ...more]);
  if (code !== 0) process.exit(code);
}

function run(program, args) {
  const [command, ...before] = program === 'npm' ? ['npm'] : [process.execPath, program];
  child = spawn(command, [...before, ...args], { cwd: ROOT, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
