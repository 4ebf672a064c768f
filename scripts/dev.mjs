// `npm run dev`: compiles on every change, and then restarts the service. Options follow `--`, as in
// `npm run dev -- --role api`. It builds the service only, not the client package.
import { execFileSync, spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = join(import.meta.dirname, '..');
/** Milliseconds until the service is killed: a running delivery may delay its stop. The next start recovers the job. */
const PATIENCE_MS = 1000;
const COMPILER = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'];
const SERVICE = ['--enable-source-maps', 'dist/main.js', 'serve', ...process.argv.slice(2)];

let service = null;
let changedAt = performance.now();
let restarting = Promise.resolve();
let isStopping = false;

generate();
// `tsc` starts a child process, which outlives it. The signal goes to the process group, so it stops both.
const compiler = spawn(process.execPath, COMPILER, { cwd: ROOT, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
createInterface({ input: compiler.stdout }).on('line', (line) => {
  if (/File change detected/.test(line)) changedAt = performance.now();
  else if (/Found 0 errors/.test(line)) restart();
  else if (line !== '') console.log(line);
});
compiler.on('exit', (code) => {
  if (!isStopping) void stop(code ?? 1);
});

// A changed schema changes the generated code, which the compiler watches. The restart applies changed SQL.
watch(join(ROOT, 'prisma'), { recursive: true }, (_event, name) => {
  changedAt = performance.now();
  if (name === 'schema.prisma') generate();
  else restart();
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(0));

function generate() {
  try {
    execFileSync(process.execPath, ['scripts/generate.mjs'], { cwd: ROOT, stdio: 'inherit' });
  } catch {
    console.error('dev: generating the code failed; the previous version stays');
  }
}

/** All changes during a restart lead to one more restart. */
let isAsked = false;
function restart() {
  if (isAsked || isStopping) return;
  isAsked = true;
  restarting = restarting.then(async () => {
    isAsked = false;
    await end();
    if (!isStopping) start();
  });
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
  const timer = setTimeout(() => ending.kill('SIGKILL'), PATIENCE_MS);
  await ended;
  clearTimeout(timer);
}

function endCompiler() {
  try {
    process.kill(process.platform === 'win32' ? compiler.pid : -compiler.pid, 'SIGTERM');
  } catch {
    // The compiler has already ended.
  }
}

async function stop(code) {
  if (isStopping) return;
  isStopping = true;
  endCompiler();
  await restarting;
  await end();
  process.exit(code);
}
