// Ends what a trial has started when the trial is killed: `node watchdog.mjs TRIAL FOLDER...`. The pid is that of the
// process that started it. Its programs are found as descendants of that process, and by their command lines, which
// name the folders: a PostgreSQL whose Patroni is gone has another parent. The standard input ends with the trial,
// whatever ends it. The trial itself is ended when its own parent is gone: vitest's workers outlive a vitest that is
// killed.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 500;
/** A process that does not end by then hangs in the kernel. */
const GIVE_UP_MS = 20_000;

const [trial = '', ...folders] = process.argv.slice(2);
const parent = processes().get(trial)?.parent;
/** Start times of the descendants by pid, so that a pid that is used again is not taken for one of them. */
const known = new Map();

let isOver = false;
process.stdin
  .resume()
  .once('close', () => {
    isOver = true;
  })
  .once('error', () => undefined);
while (!isOver) {
  note();
  await sleep(POLL_MS);
}
const giveUpAt = performance.now() + GIVE_UP_MS;
while (end() > 0 && performance.now() < giveUpAt) await sleep(100);
for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });

/** Remembers what descends from the trial. */
function note() {
  const all = processes();
  if (all.get(trial)?.parent !== parent) {
    known.set(trial, all.get(trial)?.startedAt);
    isOver = true;
  }
  const descends = (pid) => {
    const parent = all.get(pid)?.parent;
    return parent !== undefined && pid !== String(process.pid) && (parent === trial || descends(parent));
  };
  for (const [pid, { startedAt }] of all) if (descends(pid)) known.set(pid, startedAt);
  process.title = `jobferry watchdog of ${trial}: ${known.size} known`;
}

/** @returns the number of processes that had not ended */
function end() {
  let left = 0;
  for (const [pid, { startedAt, state }] of processes()) {
    const isOurs = known.get(pid) === startedAt || folders.some((folder) => commandOf(pid).includes(`${folder}/`));
    if (!isOurs || pid === String(process.pid) || state === 'Z') continue;
    left += 1;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  return left;
}

function processes() {
  const all = new Map();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    // The name of the program, in parentheses, may have spaces.
    const fields = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
    if (fields.length > 19) all.set(pid, { state: fields[0], parent: fields[1], startedAt: fields[19] });
  }
  return all;
}

function commandOf(pid) {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
