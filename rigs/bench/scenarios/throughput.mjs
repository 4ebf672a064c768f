import { measureDeferred, measureLoad } from '../measure/account.mjs';
import { comparison } from '../report/comparison.mjs';
import { SYSTEMS, systemsNamed } from '../systems/index.mjs';
import { faultsOf, takeTurns } from './rounds.mjs';

/** Until the compilers have done their work. */
const WARM_UP_SECONDS = 3;

/** Medians of this scenario must show these ratios to the peers. */
const AIMS = [
  { peer: 'bullmq-always', throughput: 2, cpu: 0.75 },
  { peer: 'pg-boss', throughput: 2.5 },
  { peer: 'graphile-worker', throughput: 4 },
  { peer: 'floor', throughput: 0.75, cpu: 1 },
];

/** Everything as fast as it goes: 64 connections publish for some seconds, and the last job arrives. */
export const throughput = comparing({
  about: 'the default: jobs per second end to end, and what they cost, beside all peers',
  aims: AIMS,
});

export const payload2k = comparing({
  about: 'the same with payloads of 2 KiB',
  payloadBytes: 2048,
  notes: ['There are no aims for this scenario.'],
});
export const payload64k = comparing({
  about: 'the same with payloads of 64 KiB',
  payloadBytes: 65_536,
  aims: [{ peer: 'bullmq-always', throughput: 1.2 }],
});

function comparing({ about, aims = [], notes = [], payloadBytes }) {
  return {
    about,
    run: (stage, options) => run(stage, options, { aims, notes, load: { ...(payloadBytes && { payloadBytes }) } }),
  };
}

async function run(stage, options, { aims, notes, load }) {
  const systems = options.systems === null ? SYSTEMS : systemsNamed(options.systems);
  const plan = { rounds: options.rounds, describe };
  const { turns, absent } = await takeTurns(stage, systems, plan, (running) => measure(stage, running, options, load));
  return {
    results: { turns, absent },
    tables: comparison(systems, turns, absent, aims, notes),
    faults: faultsOf(turns),
  };
}

async function measure(stage, running, { seconds }, load) {
  await measureLoad(stage, running, { seconds: WARM_UP_SECONDS, ...load });
  await running.warmedUp?.();
  const measured = await measureLoad(stage, running, { seconds, ...load });
  const deferred = await measureDeferred(stage, running, running.accepted);
  return { ...measured, cpuDeferredPerJob: deferred, peakRss: running.peakRss() };
}

function describe({ jobs, jobsPerSecond, cpuPerJob, arrival, refused }) {
  const refusals = refused === 0 ? '' : `, ${refused} refused`;
  return `${jobs} jobs, ${jobsPerSecond}/s, ${cpuPerJob.system} µs CPU each, arrival p50 ${arrival.p50} ms${refusals}`;
}
