// Runs `npm test` many times in a clone of the present commit: alone, on one core, beside busy loops, and mixed with a
// busy disk, another time zone and another locale. It prints a table of the runs and of what was not green, and fails
// if a run was not. Each run begins as after `npm ci`: nothing is built.
//
//   npm run rig repeat                            5 runs of each kind
//   npm run rig repeat -- --alone 1 --mixed 2     only these
//   npm run rig repeat -- --one-core 3 --core 1   on another core, beside a second call for core 0
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const RUNS = '5';
const BUSY_LOOPS = 8;
/** A run that hangs is ended, and counts as one that was not green. */
const MOST_MINUTES = 45;
/** Longer than `npm test` takes to end what it has started. */
const GRACE_MS = 15_000;
const ELSEWHERE = { TZ: 'Pacific/Kiritimati', LANG: 'C', LC_ALL: 'C' };
/**
 * All loops are started by one process. Linux divides the processors among sessions first (`sched_autogroup`), so eight
 * loops with a session each would leave the tests a tenth of the machine.
 */
const SPIN = `for (let n = 0; n < Number(process.argv[1]); n++) require('node:child_process').spawn(process.execPath, ['-e', 'for (;;);']);`;
/** Writes and flushes a file without a pause, as a database on the same disk would. */
const FLUSH = `const fs = require('node:fs'); const file = fs.openSync(process.argv[1], 'w'); const part = Buffer.alloc(65536);
for (let n = 0; ; n = (n + 1) % 1000) { fs.writeSync(file, part, 0, part.length, n * part.length); fs.fsyncSync(file); }`;

/** Conditions of a run; without any it is alone. */
const KINDS = {
  alone: [{}],
  'one-core': [{ oneCore: true }],
  load: [{ busyLoops: BUSY_LOOPS }],
  mixed: [
    { env: ELSEWHERE },
    { busyDisk: true },
    { env: ELSEWHERE, busyDisk: true, busyLoops: 2 },
    { env: ELSEWHERE, oneCore: true },
    { env: ELSEWHERE, busyDisk: true, busyLoops: BUSY_LOOPS },
  ],
};

const { values } = parseArgs({
  options: {
    ...Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, { type: 'string' }])),
    core: { type: 'string' },
  },
});
const isEvery = Object.keys(KINDS).every((kind) => values[kind] === undefined);
for (const [name, value] of Object.entries(values)) {
  if (!/^\d+$/.test(value)) throw new Error(`--${name} takes a whole number, and not "${value}"`);
}
const wanted = Object.keys(KINDS).flatMap((kind) =>
  Array.from({ length: Number(values[kind] ?? (isEvery ? RUNS : 0)) }, (_, n) => ({
    kind,
    ...KINDS[kind][n % KINDS[kind].length],
  })),
);
const children = new Set();
const folder = mkdtempSync(join(tmpdir(), 'jobferry-repeat-'));
const clone = join(folder, 'clone');
let isEnding = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, async () => {
    isEnding = true;
    // `npm test` ends what it has started in groups of its own.
    // SIGKILL would leave its tests and their database running.
    const ends = [...children].map((child) => new Promise((resolve) => child.once('close', resolve)));
    for (const { pid } of children) endGroup(pid, 'SIGTERM');
    await Promise.race([Promise.all(ends), new Promise((resolve) => setTimeout(resolve, GRACE_MS))]);
    process.exit(1);
  });
}
process.on('exit', () => {
  for (const { pid } of children) endGroup(pid, 'SIGKILL');
  rmSync(clone, { recursive: true, force: true });
});

execFileSync('git', ['clone', '--quiet', ROOT, clone]);
execFileSync('npm', ['ci'], { cwd: clone, stdio: 'inherit' });
mkdirSync(join(folder, 'logs'));
console.log(`${wanted.length} runs of ${commitOf(clone)}; their output is in ${join(folder, 'logs')}`);

const rows = [];
for (const [n, run] of wanted.entries()) {
  const row = await runTests(run, join(folder, 'logs', `${n + 1}.log`));
  if (isEnding) break;
  rows.push(row);
  console.log(written(n, row));
}
console.log(
  [
    '\n| Run | Conditions | Seconds | CPU seconds | Tests | Result |',
    '|---|---|---|---|---|---|',
    ...rows.map((row, n) => written(n, row)),
  ].join('\n'),
);
const red = rows.filter(({ failures }) => failures.length > 0).length;
console.log(`\n${rows.length - red} of ${rows.length} runs were green.`);
process.exitCode = red > 0 ? 1 : 0;

async function runTests({ kind, env = {}, oneCore = false, busyLoops = 0, busyDisk = false }, log) {
  execFileSync('git', ['clean', '-xfdq', '-e', 'node_modules'], { cwd: clone });
  const beside = [
    ...(busyLoops > 0 ? [start(process.execPath, ['-e', SPIN, String(busyLoops)])] : []),
    ...(busyDisk ? [start(process.execPath, ['-e', FLUSH, join(folder, 'flushed')])] : []),
  ];
  const core = values.core ?? String(availableParallelism() - 1);
  const command = [...(oneCore ? ['taskset', '-c', core] : []), 'npm', 'test'];
  const startedAt = performance.now();
  const code = await endOf(start(command[0], command.slice(1), { env, log }));
  const seconds = (performance.now() - startedAt) / 1000;
  for (const { pid } of beside) endGroup(pid, 'SIGKILL');
  const conditions = [
    kind,
    ...(oneCore ? [`core ${core}`] : []),
    ...(busyLoops > 0 ? [`${busyLoops} busy loops`] : []),
    ...(busyDisk ? ['busy disk'] : []),
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  ];
  return { conditions, seconds, code, ...readLog(log, code) };
}

/** Starts a command in a group of its own. */
function start(command, args, { env = {}, log } = {}) {
  // No pipe: the file is complete when the command has ended, whatever it has left running.
  const file = log === undefined ? 'ignore' : openSync(log, 'w');
  const stdio = ['ignore', file, file];
  const child = spawn(command, args, { cwd: clone, detached: true, stdio, env: { ...process.env, ...env } });
  if (log !== undefined) closeSync(file);
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

async function endOf(child) {
  const timers = [
    setTimeout(() => endGroup(child.pid, 'SIGTERM'), MOST_MINUTES * 60_000),
    setTimeout(() => endGroup(child.pid, 'SIGKILL'), MOST_MINUTES * 60_000 + GRACE_MS),
  ];
  const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
  for (const timer of timers) clearTimeout(timer);
  return code;
}

function endGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}

/** The numbers that `npm test` prints, and the lines below "Failed:". */
function readLog(log, code) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of vitest
  const text = readFileSync(log, 'utf8').replace(/\x1b\[[0-9;]*m/g, '');
  const tests = /^ +Tests +(.+)$/m.exec(text)?.[1].replaceAll(' | ', ', ') ?? 'none';
  const cpu = /^CPU: (\d+) s/m.exec(text)?.[1] ?? '';
  const failures = (text.split('\nFailed:\n')[1] ?? '').trim().split('\n').filter(Boolean);
  return { tests, cpu, failures: code === 0 || failures.length > 0 ? failures : [`ended with ${code}`] };
}

function written(n, { conditions, seconds, cpu, tests, failures }) {
  const result = failures.length === 0 ? 'green' : failures.map((line) => line.trim()).join('<br>');
  return `| ${n + 1} | ${conditions.join(', ')} | ${Math.round(seconds)} | ${cpu} | ${tests} | ${result} |`;
}

function commitOf(cwd) {
  return execFileSync('git', ['log', '-1', '--format=%h %s'], { cwd, encoding: 'utf8' }).trim();
}
