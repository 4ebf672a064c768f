// `npm test` checks beside the build and the tests, which are all but the long ones. With `long` it runs those, after a build,
// those that need packages of their own (test/packages/tools), and this build in pairs with the best one so far. It prints what
// each step took, and `npm test` fails when it took more CPU than package.json allows (`config.testCpuSeconds`): a test that
// costs too much is seen in the change that brings it.
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
/** Exit code of bench/pairs/run.mjs: there is no build to compare with, which is no fault of this one. */
const NO_BUILD = 3;
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

const folder = mkdtempSync(join(tmpdir(), 'jobferry-cpu-'));
/** The database server is not a child of the tests: they write its CPU seconds into this file (test/support/global-setup.ts). */
const serverFile = join(folder, 'server');
try {
  await (isLong ? runLong() : Promise.all([step('check', 'npm', ['run', '--silent', 'check']), runTests('!long*')]));
  judge();
} catch (error) {
  console.error(String(error.message));
  process.exitCode = 1;
} finally {
  await endRunning();
  rmSync(folder, { recursive: true, force: true });
}

/** @param project the projects of vitest.config.ts, as a pattern */
async function runTests(project, env = {}) {
  await Promise.all([
    step('build', 'npm', ['run', '--silent', 'build']),
    step('client', 'npm', ['run', '--silent', 'build:client']),
  ]);
  await step('tests', process.execPath, [VITEST, 'run', '--project', project], { TEST_CPU_FILE: serverFile, ...env });
}

async function runLong() {
  // Four times as many cases as in `npm test`, for what is drawn at random.
  await runTests('long*', { FUZZ_CASES: '600' });
  const seeds = ['test/simulation/even-seeds', 'test/simulation/odd-seeds'];
  await step('simulation', process.execPath, [VITEST, 'run', ...seeds], { SIM_SEQUENCES: '12000' });
  await step('fuzz', 'npm', ['run', '--silent', 'test:fuzz', '--', 'test/http'], { FUZZ_CASES: '600' });
  await step('tools', 'npm', ['run', '--silent', 'test:tools']);
  const few = ['--only', 'whole', '--pairs', '8', '--seconds', '2'];
  await step('pairs', process.execPath, ['bench/pairs/run.mjs', ...few], {}, [0, NO_BUILD]);
}

/** Ends the groups of all commands that still run, once: a second SIGTERM would end vitest before it has stopped its database. */
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

/** Runs a command to its end, in a group of its own: a signal to this process ends all that it has started. @throws if it fails */
async function step(name, command, args, env = {}, allowed = [0]) {
  const startedAt = performance.now();
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', detached: true, env: { ...process.env, ...env } });
  running.add(child);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  running.delete(child);
  if (!allowed.includes(code)) throw new Error(`${name}: ended with ${code}`);
  console.log(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

/**
 * A machine that does other work gives less for each CPU second, so there the number is only shown.
 * @throws if the run took too much CPU. Only Linux says what children took.
 */
function judge() {
  const used = cpuSeconds();
  if (used === null) return;
  const { seconds, busy } = machine();
  const others = (busy - atStart.busy - used) / (seconds - atStart.seconds);
  const allowed = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).config.testCpuSeconds;
  console.log(`CPU: ${Math.round(used)} s, and other work took ${Math.round(100 * others)} % of the machine`);
  if (isLong || used <= allowed || others > 0.1) return;
  throw new Error(`the run took more CPU than the ${allowed} s of \`config.testCpuSeconds\` in package.json`);
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

/** Seconds that this process, all that it has waited for, and the database server took; null where that is not known. */
function cpuSeconds() {
  try {
    // After the name in parentheses, which may have spaces: fields 14 to 17 are its own time and that of its children.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
    return own + Number(readFileSync(serverFile, 'utf8'));
  } catch {
    return null;
  }
}
