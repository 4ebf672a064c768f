import { writeFileSync } from 'node:fs';
import { measureLoad } from '../measure/account.mjs';
import { peakRssOf, rssOf } from '../measure/processes.mjs';
import { median, round } from '../measure/statistics.mjs';
import { notesOf } from '../report/noise.mjs';
import { promiseNote, verdict } from '../report/variants.mjs';
import { jobferry } from '../systems/jobferry.mjs';
import { faultsOf, takeTurns } from './rounds.mjs';

const WARM_UP_SECONDS = 3;
const CAPACITY_SECONDS = 4;
const LOAD = 0.3;
const SAMPLE_MS = 1000;
/** Share of the time that is left out; the slope is measured over the rest. */
const WARM_UP_SHARE = 0.2;
/** Issue 5. */
const AIM = { slope: 1, peak: 300 };

/** Once, for any number of rounds. */
export const memory = {
  about: `memory over 10 minutes (--minutes) at ${LOAD * 100} % load: slope after warm-up, and peak, of each process`,
  async run(stage, options) {
    const { turns } = await takeTurns(stage, [jobferry], { rounds: 1, describe }, (running) =>
      measure(stage, running, options),
    );
    return {
      options: { ...options, rounds: 1 },
      results: { turns },
      tables: turns.map((turn) => table(turn, options)),
      faults: faultsOf(turns),
    };
  },
};

async function measure(stage, running, { minutes }) {
  await measureLoad(stage, running, { seconds: WARM_UP_SECONDS });
  const { jobsPerSecond: capacity } = await measureLoad(stage, running, { seconds: CAPACITY_SECONDS });
  await running.warmedUp?.();
  const processes = running
    .processes()
    .map(({ role, pid }) => ({ role, pid, fullLoadPeak: peakRssOf(pid), samples: [] }));
  for (const { pid } of processes) forgetPeak(pid);
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const at = (performance.now() - startedAt) / 60_000;
    for (const { pid, samples } of processes) samples.push([round(at, 4), rssOf(pid)]);
  }, SAMPLE_MS);
  const load = await measureLoad(stage, running, { seconds: minutes * 60, rate: capacity * LOAD }).finally(() =>
    clearInterval(timer),
  );
  return { capacity, load, processes: processes.map((one) => ({ ...one, ...figures(one, minutes) })) };
}

/** The peak so far belongs to the full load before; Linux starts a new one on request. */
function forgetPeak(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Not allowed everywhere: then the peak is that of the process's whole life.
  }
}

function figures({ pid, samples }, minutes) {
  const counted = samples.filter(([at, mb]) => at >= minutes * WARM_UP_SHARE && mb !== null);
  const around = (from) => counted.filter(([at]) => at >= from && at < from + minutes * 0.1).map(([, mb]) => mb);
  const [first, last] = [around(minutes * WARM_UP_SHARE), around(minutes * 0.9)];
  return {
    peak: peakRssOf(pid),
    slope: counted.length < 2 ? null : round(slopeOf(counted)),
    floorSlope: counted.length < 2 ? null : round(slopeOf(lowestOfMinutes(counted))),
    from: first.length === 0 ? null : median(first),
    to: last.length === 0 ? null : median(last),
  };
}

/** The memory that stays in use, without garbage that is not yet collected. */
function lowestOfMinutes(samples) {
  const lowest = new Map();
  for (const [at, mb] of samples) {
    const minute = Math.floor(at);
    if (mb < (lowest.get(minute)?.[1] ?? Number.POSITIVE_INFINITY)) lowest.set(minute, [minute, mb]);
  }
  return [...lowest.values()];
}

/** Least squares, in MB per minute. */
function slopeOf(samples) {
  const mean = (pick) => samples.reduce((sum, sample) => sum + pick(sample), 0) / samples.length;
  const [meanAt, meanMb] = [mean(([at]) => at), mean(([, mb]) => mb)];
  return mean(([at, mb]) => (at - meanAt) * (mb - meanMb)) / mean(([at]) => (at - meanAt) ** 2);
}

function describe({ load, processes }) {
  const each = processes.map(({ role, slope, peak }) => `${role} ${slope} MB/min, peak ${peak} MB`);
  return `${load.jobsPerSecond}/s; ${each.join('; ')}`;
}

function table({ capacity, load, processes, check }, { minutes }) {
  const judge = (value, aim) => (value === null ? 'not measured' : `${value} (aim ≤ ${aim}: ${verdict(value <= aim)})`);
  const first = Math.round(minutes * WARM_UP_SHARE * 10) / 10;
  return {
    title: `Memory over ${minutes} min at ${Math.round(capacity * LOAD)} jobs/s, ${LOAD * 100} % of ${Math.round(capacity)}`,
    head: [
      'Process',
      'slope MB/min',
      'slope of the lowest of each minute',
      `MB after ${first} min`,
      'MB at the end',
      'peak MB',
      'peak MB at full load before',
    ],
    rows: processes.map(({ role, slope, floorSlope, from, to, peak, fullLoadPeak }) => [
      role,
      judge(slope, AIM.slope),
      floorSlope,
      from,
      to,
      judge(peak, AIM.peak),
      judge(fullLoadPeak, AIM.peak),
    ]),
    ...notesOf(
      [load.cpuPerJob.others],
      promiseNote([{ check }]),
      `The slope is the least-squares line through one sample a second, without the first ${first} min.` +
        (minutes < 10 ? ' **Too short**: the issue asks for 10 minutes.' : ''),
    ),
  };
}
