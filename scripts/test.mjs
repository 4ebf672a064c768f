// `npm test` checks beside the build and the tests, which are all but the long ones. With `long` it runs those, after a
// build, those that need packages of their own (rigs/packages/tools), and this build in pairs with the best one so far.
// It prints what each step took, and the CPU seconds of the run beside the budget in package.json
// (`config.testCpuSeconds`). The lines at the end of a failed run are the failures, each with the command that repeats
// it.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** Not by `npx`, which ends before what it has started, at a signal. */
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
/** Ticks of a second in /proc: 100 on every Linux that Node runs on. */
const TICKS = 100;
/** Time in which a command that is told to end does so. */
const GRACE_MS = 10_000;
const isLong = process.argv[2] === 'long';

const atStart = machine();
/**
 * Exit codes of rigs/bench/pairs/run.mjs that fail nothing: there is no build to compare with, or this one is slower.
 * Two starts of the same build differ by more than the limit (rigs/bench/README.md), so a person runs it again before
 * believing it.
 */
const PAIRS_ALLOWED = [0, 3, 4];
/** Commands that run now. */
const running = new Set();
/** The end of them; null before it begins. */
let ending = null;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, async () => {
    await endRunning();
    rmSync(folder, { recursive: true, force: true });
    process.exit(1);
  });
}

const folder = mkdtempSync(join(tmpdir(), 'jobferry-tests-'));
/**
 * The database server is not a child of the tests: they write its CPU seconds into this file
 * (test/support/global-setup.ts).
 */
const serverFile = join(folder, 'server');
/** The failures, each with the command that repeats it. */
const failures = [];
try {
  await Promise.all(
    isLong ? [runLong()] : [step('check', process.execPath, ['scripts/check.mjs', 'main']), runTests('!long*')],
  );
} catch (error) {
  failures.push(error.message);
} finally {
  await endRunning();
  tellCpu();
  if (failures.length > 0) {
    console.error(`\nFailed:\n${failures.map((line) => `  ${line.replaceAll('\n', '\n  ')}`).join('\n')}`);
    process.exitCode = 1;
  }
  rmSync(folder, { recursive: true, force: true });
}

/** @param project the projects of vitest.config.ts, as a pattern */
async function runTests(project, env = {}) {
  const built = await Promise.all([
    step('build', process.execPath, ['scripts/build.mjs']),
    step('client', process.execPath, ['scripts/client/build.mjs']),
  ]);
  if (!built.every(Boolean)) return;
  await step('tests', process.execPath, [VITEST, 'run', '--project', project], { TEST_CPU_FILE: serverFile, ...env });
}

async function runLong() {
  // The tests in a browser run here, so their types are checked here, with those of the dashboard.
  await step('check', process.execPath, ['scripts/check.mjs', 'browser']);
  // Four times as many cases as in `npm test`, for what is drawn at random.
  await runTests('long*', { FUZZ_CASES: '600', HELD_JOBS: '5000' });
  const simulation = ['test/simulation/even-seeds', 'test/simulation/odd-seeds', 'test/simulation/model'];
  const sequences = { SIM_SEQUENCES: '12000', MODEL_SEQUENCES: '200' };
  await step('simulation', process.execPath, [VITEST, 'run', ...simulation], sequences);
  await step('fuzz', process.execPath, ['scripts/rig.mjs', 'fuzz', 'test/http'], { FUZZ_CASES: '600' });
  await step('tools', process.execPath, ['scripts/rig.mjs', 'tools']);
  const few = ['--only', 'whole', '--pairs', '8', '--seconds', '2'];
  await step('pairs', process.execPath, ['rigs/bench/pairs/run.mjs', ...few], {}, PAIRS_ALLOWED);
}

/**
 * Ends the groups of all commands that still run, once: a second SIGTERM would end vitest before it has stopped its
 * database.
 */
function endRunning() {
  ending ??= endGroups();
  return ending;
}

/** Workers of vitest ignore what asks them to end, and outlive it. */
async function endGroups() {
  const commands = [...running];
  const ends = commands.map((command) => new Promise((resolve) => command.once('close', resolve)));
  for (const { pid } of commands) signalGroup(pid, 'SIGTERM');
  await Promise.race([Promise.all(ends), new Promise((resolve) => setTimeout(resolve, GRACE_MS).unref())]);
  for (const { pid } of commands) signalGroup(pid, 'SIGKILL');
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}

/**
 * Runs a command to its end, in a group of its own: a signal to this process ends all that it has started. A command
 * that fails is added to `failures`.
 * @returns whether it succeeded
 */
async function step(name, command, args, env = {}, allowed = [0]) {
  // A signal has ended the step before. A command that is started now would outlive this process.
  if (ending !== null) return false;
  const startedAt = performance.now();
  /** The failed tests, a line each (test/support/run-summary.ts). */
  const failuresFile = join(folder, `failures-${name}`);
  const environment = { ...process.env, TEST_FAILURES_FILE: failuresFile, ...env };
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', detached: true, env: environment });
  running.add(child);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  running.delete(child);
  console.log(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  if (allowed.includes(code)) return true;
  const named = existsSync(failuresFile) ? readFileSync(failuresFile, 'utf8').trimEnd() : '';
  const variables = variablesIn(env);
  failures.push(
    named === ''
      ? `${name} ended with ${code}: ${[...variables, written(command, args)].join(' ')}`
      : named.replaceAll(/^(?=np[mx] )/gm, variables.map((each) => `${each} `).join('')),
  );
  return false;
}

/** The variables that a person sets to get the same tests. */
function variablesIn({ TEST_CPU_FILE, ...env }) {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}

/** The command as a person types it. */
function written(command, args) {
  const program = command === process.execPath ? 'node' : command;
  return [program, ...args]
    .filter((word) => word !== '--silent')
    .map((word) => word.replace(`${ROOT}/`, ''))
    .map((word) => (/^[\w./:=-]+$/.test(word) ? word : `'${word}'`))
    .join(' ');
}

/**
 * Prints the CPU seconds of the run beside the budget. Nothing fails by it: processors differ by a factor of two, and a
 * processor that does other work gives less for each second.
 */
function tellCpu() {
  const used = cpuSeconds();
  if (used === null) return;
  const { seconds, busy } = machine();
  const others = Math.max(0, (busy - atStart.busy - used) / (seconds - atStart.seconds));
  const { testCpuSeconds } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).config;
  const budget = isLong ? '' : ` of ${testCpuSeconds} s that it may take on two quiet cores`;
  console.log(
    `CPU: ${Math.round(used)} s${budget} (${Math.round(serverSeconds())} s the database server); other work took ${Math.round(100 * others)} % of the machine`,
  );
}

/** Seconds of all processors since the start of the machine, and how many of them they worked. */
function machine() {
  const file = existsSync('/proc/stat') ? readFileSync('/proc/stat', 'utf8') : '';
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...more] = (file.split('\n')[0] ?? '')
    .split(/ +/)
    .slice(1, 9)
    .map((ticks) => Number(ticks) / TICKS);
  const busy = [user, nice, system, ...more].reduce((sum, each) => sum + each, 0);
  return { seconds: busy + idle + waiting, busy };
}

/**
 * Seconds that this process, all that it has waited for, and the database server took; null where that is not known.
 */
function cpuSeconds() {
  try {
    // After the name in parentheses, which may have spaces: fields 14 to 17 are its own time and that of its children.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
    return own + serverSeconds();
  } catch {
    return null;
  }
}

function serverSeconds() {
  return existsSync(serverFile) ? Number(readFileSync(serverFile, 'utf8')) : 0;
}
