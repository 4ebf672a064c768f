import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second, on every platform that Node supports. */
const TICK_US = 10_000;

function namesIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it has just ended
  }
}

function readOr(path, fallback) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return fallback; // it has just ended
  }
}

/** Fields of /proc/PID/stat from the third on: the second is a name, which may hold anything. */
function statOf(pid) {
  const text = readOr(`/proc/${pid}/stat`, null);
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** CPU microseconds of a process so far, kernel and user, all threads that it has. The scheduler's count is exact. */
export function cpuOf(pid) {
  let total = 0;
  for (const thread of namesIn(`/proc/${pid}/task`)) {
    total += Number(readOr(`/proc/${pid}/task/${thread}/schedstat`, '0').split(' ')[0]) / 1000;
  }
  return total;
}

/** The CPU of a process with all its children, ended ones included. */
export function cpuOfFamily(pid) {
  let total = cpuOf(pid);
  const own = statOf(pid);
  if (own !== null) total += (Number(own[13]) + Number(own[14])) * TICK_US;
  for (const name of namesIn('/proc')) {
    if (/^\d+$/.test(name) && Number(statOf(name)?.[1]) === pid) total += cpuOf(name);
  }
  return total;
}

/** Most memory that a process has had resident, in MB. */
export function peakRssOf(pid) {
  return megabytes(pid, /VmHWM:\s+(\d+)/);
}

export function rssOf(pid) {
  return megabytes(pid, /VmRSS:\s+(\d+)/);
}

function megabytes(pid, pattern) {
  const kilobytes = pattern.exec(readOr(`/proc/${pid}/status`, ''))?.[1];
  return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 102.4) / 10;
}

/**
 * Microseconds since the machine started, of all its CPUs together:
 * in which they worked, and which the host gave to others.
 */
export function timesOfMachine() {
  const fields = readOr('/proc/stat', '').split('\n')[0].split(/\s+/).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = fields;
  return { busy: (user + nice + system + irq + softirq) * TICK_US, stolen: stolen * TICK_US };
}
