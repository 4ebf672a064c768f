import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second, on every platform that Node supports. */
const TICK_US = 10_000;

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

/** CPU microseconds of a process so far, kernel and user, all threads. */
export function cpuOf(pid) {
  const stat = statOf(pid);
  return stat === null ? 0 : (Number(stat[11]) + Number(stat[12])) * TICK_US;
}

/** The CPU of a process with all its children, ended ones included. */
export function cpuOfFamily(pid) {
  let total = cpuOf(pid);
  const own = statOf(pid);
  if (own !== null) total += (Number(own[13]) + Number(own[14])) * TICK_US;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(name);
    if (stat !== null && Number(stat[1]) === pid) total += (Number(stat[11]) + Number(stat[12])) * TICK_US;
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

/** CPU microseconds that the whole machine has spent working so far. */
export function cpuOfMachine() {
  const [user, nice, system, , , irq, softirq] = readOr('/proc/stat', 'cpu 0 0 0 0 0 0 0')
    .split('\n')[0]
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) * TICK_US;
}
