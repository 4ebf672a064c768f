// `npm test` checks and builds, side by side, and runs every test but the long ones; with `long` it runs those, after a
// build, and those that need packages of their own (test/packages/tools). At its end it prints what each step took, and fails when `npm test` took more CPU than package.json allows
// (`config.testCpuSeconds`), so that a test that costs too much is seen in the change that brings it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** Ticks of a second in /proc: 100 on every Linux that Node runs on. */
const TICKS = 100;
const isLong = process.argv[2] === 'long';

const folder = mkdtempSync(join(tmpdir(), 'jobferry-cpu-'));
/** The database server is not a child of the tests: they write its CPU seconds into this file (test/support/global-setup.ts). */
const serverFile = join(folder, 'server');
try {
  await step('generating', 'node', ['scripts/generate.mjs']);
  const builds = [
    step('build', 'npm', ['run', '--silent', 'build']),
    step('client', 'npm', ['run', '--silent', 'build:client']),
  ];
  await Promise.all(isLong ? builds : [...builds, step('check', 'npm', ['run', '--silent', 'check'])]);
  await step('tests', 'npx', ['vitest', 'run', '--project', isLong ? 'long*' : '!long*'], {
    TEST_CPU_FILE: serverFile,
  });
  if (isLong) {
    // `npm test` draws these at random, a quarter as often.
    const seeds = ['test/simulation/even-seeds', 'test/simulation/odd-seeds'];
    await step('simulation', 'npx', ['vitest', 'run', ...seeds], { SIM_SEQUENCES: '12000' });
    await step('fuzz', 'npm', ['run', '--silent', 'test:fuzz'], { FUZZ_CASES: '600' });
    await step('tools', 'npm', ['run', '--silent', 'test:tools']);
  }
  judge();
} catch (error) {
  console.error(String(error.message));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs a command to its end. @throws if it fails */
async function step(name, command, args, env = {}) {
  const startedAt = performance.now();
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`${name}: ended with ${code}`);
  console.log(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

/** @throws if the run took too much CPU. Only Linux says what children took. */
function judge() {
  const used = cpuSeconds();
  if (used === null) return;
  const allowed = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).config.testCpuSeconds;
  console.log(`CPU: ${Math.round(used)} s${isLong ? '' : ` of ${allowed} s`}`);
  if (!isLong && used > allowed)
    throw new Error('the run took more CPU than `config.testCpuSeconds` of package.json allows');
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
