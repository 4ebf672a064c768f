// `npm run dev`: compiles on every change, and then restarts the service. Options follow `--`, as in
// `npm run dev -- --role api`. It builds the service only, not the client package.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, symlinkSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = join(import.meta.dirname, '..');
/** Its own: `dist` is that of builds, which never change. */
const FOLDER = join(ROOT, '.builds/dev');
/** Everything that the service finds beside its code: the files of the sources, and the dashboard of the last build. */
const LINKS = { prisma: 'prisma', 'dist/dashboard-page': 'dist/dashboard-page' };
/** Milliseconds until the service is killed: a running delivery may delay its stop. The next start recovers the job. */
const PATIENCE_MS = 1000;
/** An editor may write a file in several steps. */
const SETTLE_MS = 30;
const COMPILE = [
  ...[
    'node_modules/typescript/bin/tsc',
    '-p',
    'tsconfig.build.json',
    '--outDir',
    join(FOLDER, 'dist'),
    '--noEmitOnError',
  ],
  ...['--incremental', '--tsBuildInfoFile', join(FOLDER, 'tsbuildinfo'), '--sourceMap'],
];
const SERVICE = ['--enable-source-maps', join(FOLDER, 'dist/src/main.js'), 'serve', ...process.argv.slice(2)];

let service = null;
let changedAt = performance.now();
/** The compilation and restart that run, one after the other. */
let working = Promise.resolve();
let timer = null;
let isStopping = false;

// Not `tsc --watch`: the watcher of TypeScript 7 notices no change in some folders, such as those just below `/tmp`.
for (const sources of ['src', 'packages/client/src', 'packages/query']) {
  watch(join(ROOT, sources), { recursive: true }, (_event, name) => {
    if (name?.endsWith('.ts') && !name.includes('generated')) changed();
  });
}
watch(join(ROOT, 'prisma'), { recursive: true }, () => changed());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(0));
prepareFolder();
changed();

/** All changes until the next compilation begins lead to one. */
function changed() {
  changedAt = performance.now();
  clearTimeout(timer);
  timer = setTimeout(() => {
    working = working.then(rebuild);
  }, SETTLE_MS);
}

function prepareFolder() {
  for (const [name, target] of Object.entries(LINKS)) {
    const link = join(FOLDER, name);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(join(ROOT, target), link, 'junction');
  }
  copyFileSync(join(ROOT, 'package.json'), join(FOLDER, 'package.json'));
}

async function rebuild() {
  if (isStopping || !generate() || !(await compile()) || isStopping) return;
  await end();
  if (!isStopping) start();
}

/** Generates the code that depends on the data model, if that has changed. */
function generate() {
  try {
    execFileSync(process.execPath, ['scripts/generate.mjs'], { cwd: ROOT, stdio: 'inherit' });
    return true;
  } catch {
    console.error('dev: generating the code failed; the previous version stays');
    return false;
  }
}

/** Resolves with whether the sources have no error. The compiler prints its errors. */
function compile() {
  const compiler = spawn(process.execPath, COMPILE, { cwd: ROOT, stdio: 'inherit' });
  return new Promise((resolve) => compiler.once('exit', (code) => resolve(code === 0)));
}

function start() {
  // The service has its own process group, so it receives Ctrl-C only from this script, and only once.
  service = spawn(process.execPath, SERVICE, { cwd: ROOT, detached: true, stdio: ['ignore', 'inherit', 'pipe'] });
  createInterface({ input: service.stderr }).on('line', (line) => {
    console.error(line);
    if (line.includes('"msg":"listening"')) {
      console.log(`dev: running, ${Math.round(performance.now() - changedAt)} ms after the change`);
    }
  });
}

async function end() {
  if (service === null || service.exitCode !== null || service.signalCode !== null) return;
  const ending = service;
  const ended = new Promise((resolve) => ending.once('exit', resolve));
  ending.kill('SIGTERM');
  const deadline = setTimeout(() => ending.kill('SIGKILL'), PATIENCE_MS);
  await ended;
  clearTimeout(deadline);
}

async function stop(code) {
  if (isStopping) return;
  isStopping = true;
  await working;
  await end();
  process.exit(code);
}
