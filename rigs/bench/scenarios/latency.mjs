import { measureLoad } from '../measure/account.mjs';
import { spread } from '../measure/statistics.mjs';
import { millis } from '../report/format.mjs';
import { notesOf } from '../report/noise.mjs';
import { SYSTEMS, systemsNamed } from '../systems/index.mjs';
import { faultsOf, takeTurns } from './rounds.mjs';

const WARM_UP_SECONDS = 3;
const CAPACITY_SECONDS = 4;
const SHARES = [0.1, 0.5];
/** At 10 % load, in milliseconds. */
const AIMS = { jobferry: { p50: 3, p99: 10 }, 'jobferry-one': { p50: 2, p99: 8 } };

/** Jobs come at a fixed rate, a share of what the system itself managed just before, whether it keeps up or not. */
export const latency = {
  about: 'publish to arrival at 10 % and 50 % of the throughput that each system has',
  async run(stage, options) {
    const systems = options.systems === null ? SYSTEMS : systemsNamed(options.systems);
    const { turns, absent } = await takeTurns(stage, systems, { rounds: options.rounds, describe }, (running) =>
      measure(stage, running, options),
    );
    return { results: { turns, absent }, tables: [table(systems, turns)], faults: faultsOf(turns) };
  },
};

async function measure(stage, running, { seconds }) {
  await measureLoad(stage, running, { seconds: WARM_UP_SECONDS });
  const { jobsPerSecond: capacity } = await measureLoad(stage, running, { seconds: CAPACITY_SECONDS });
  await running.warmedUp?.();
  const loads = {};
  for (const share of SHARES) {
    loads[share] = await measureLoad(stage, running, { seconds, rate: capacity * share });
  }
  return { capacity, loads };
}

function describe({ capacity, loads }) {
  const each = SHARES.map((share) => `at ${share * 100} % p50 ${loads[share].arrival.p50} p99 ${loads[share].arrival.p99} ms`);
  return `${capacity}/s; ${each.join('; ')}`;
}

function table(systems, turns) {
  const rows = systems.flatMap(({ name, label }) => {
    const own = turns.filter((turn) => turn.system === name);
    if (own.length === 0) return [];
    return SHARES.map((share) => {
      const of = (what, percentile) => spread(own.map(({ loads }) => loads[share][what][percentile]));
      const aims = share === 0.1 ? AIMS[name] : undefined;
      const aim = (percentile) => {
        if (aims === undefined) return '';
        const isMet = of('arrival', percentile).median <= aims[percentile];
        return ` (aim ≤ ${aims[percentile]}: ${isMet ? 'met' : 'MISSED'})`;
      };
      const rate = spread(own.map(({ loads }) => loads[share].publishesPerSecond));
      return [
        label,
        `${share * 100} %`,
        Math.round(rate.median),
        `${millis(of('publish', 'p50'))} / ${millis(of('publish', 'p99'))}`,
        millis(of('arrival', 'p50')) + aim('p50'),
        millis(of('arrival', 'p99')) + aim('p99'),
        `${Math.round(spread(own.map(({ loads }) => loads[share].cpuPerJob.others)).median * 100)} %`,
      ];
    });
  });
  return {
    title: 'From the publish to the arrival',
    head: ['System', 'load', 'jobs/s', 'publish p50 / p99 ms', 'arrival p50 ms (min–max)', 'arrival p99 ms (min–max)', 'others busy'],
    rows,
    ...notesOf(turns.flatMap(({ loads }) => Object.values(loads)).map(({ cpuPerJob }) => cpuPerJob.others)),
  };
}
