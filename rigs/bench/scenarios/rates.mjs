import { setTimeout as pause } from 'node:timers/promises';
import { cpuSample, difference, measureLoad } from '../measure/account.mjs';
import { round, spread } from '../measure/statistics.mjs';
import { judged, millis, rate as spreadOf, short } from '../report/format.mjs';
import { notesOf } from '../report/noise.mjs';
import { SYSTEMS, systemsNamed } from '../systems/index.mjs';
import { faultsOf, takeTurns } from './rounds.mjs';

const WARM_UP_SECONDS = 3;
/** At low rates a figure needs as many jobs, so more time. */
const LEAST_JOBS = 40;
const AT_REST_SECONDS = 60;
/** The system that each figure is compared with. */
const PEER = 'bullmq-always';
/** Ratios to the peer, by system and rate. */
const AIMS = {
  jobferry: { 20: { cpu: 1 }, 200: { cpu: 1, p50: 1, p99: 1 } },
  'jobferry-one': { 20: { cpu: 0.8 }, 200: { cpu: 0.8, p50: 1, p99: 1 } },
};
const PARTS = ['api', 'worker', 'all', 'postgres', 'redis'];

/** The load that most installations have: a steady rate far below what the machine can do, and none at all. */
export const rates = {
  about: 'CPU per job and latency at 1, 20, 200 and 1000 jobs/s (--rates), and CPU at rest; all systems',
  async run(stage, options) {
    const systems = options.systems === null ? SYSTEMS : systemsNamed(options.systems);
    const plan = { rounds: options.rounds, describe };
    const { turns, absent } = await takeTurns(stage, systems, plan, (running) => measure(stage, running, options));
    const tables = [loadTable(systems, turns, options.rates), restTable(systems, turns)];
    return { results: { turns, absent }, tables, faults: faultsOf(turns) };
  },
};

async function measure(stage, running, { seconds, rates: wanted }) {
  await measureLoad(stage, running, { seconds: WARM_UP_SECONDS });
  await running.settled?.();
  await running.warmedUp?.();
  const loads = {};
  for (const rate of wanted) {
    loads[rate] = await measureLoad(stage, running, { seconds: Math.max(seconds, LEAST_JOBS / rate), rate });
  }
  await running.settled?.();
  return { loads, atRest: await measureRest(stage, running) };
}

/** @returns percent of one CPU by part, while there is no job */
async function measureRest(stage, running) {
  const before = cpuSample(stage, running);
  await pause(AT_REST_SECONDS * 1000);
  const { at, ...cpu } = difference(cpuSample(stage, running), before);
  return Object.fromEntries(Object.entries(cpu).map(([name, us]) => [name, round((100 * us) / at)]));
}

function describe({ loads, atRest }) {
  const each = Object.entries(loads).map(
    ([rate, { cpuPerJob, arrival }]) => `${rate}/s ${Math.round(cpuPerJob.system)} µs, p50 ${arrival.p50} p99 ${arrival.p99} ms`,
  );
  return `${each.join('; ')}; at rest ${atRest.system} %`;
}

function loadTable(systems, turns, wanted) {
  const figures = (name, rate) => {
    const loads = turns.filter(({ system }) => system === name).map((turn) => turn.loads[rate]);
    const of = (pick) => spread(loads.map(pick));
    return {
      cpu: of(({ cpuPerJob }) => cpuPerJob.system),
      parts: PARTS.map((part) => [part, of(({ cpuPerJob }) => cpuPerJob[part])]).filter(([, value]) => value !== null),
      publish: of(({ publish }) => publish.p50),
      p50: of(({ arrival }) => arrival.p50),
      p99: of(({ arrival }) => arrival.p99),
    };
  };
  const present = systems.filter(({ name }) => turns.some(({ system }) => system === name));
  const rows = wanted.flatMap((rate) => {
    const peer = present.some(({ name }) => name === PEER) ? figures(PEER, rate) : null;
    return present.map(({ name, label }) => {
      const own = figures(name, rate);
      const beside = (figure) => {
        if (peer === null || name === PEER) return '';
        const ratio = own[figure].median / peer[figure].median;
        const aim = AIMS[name]?.[rate]?.[figure];
        return judged(ratio, aim, ratio <= aim, '≤');
      };
      return [
        label,
        String(rate),
        spreadOf(own.cpu),
        own.parts.map(([part, { median }]) => `${part} ${Math.round(median)}`).join(', '),
        short(own.publish.median),
        millis(own.p50),
        millis(own.p99),
        ...['cpu', 'p50', 'p99'].map(beside),
      ];
    });
  });
  const head = ['System', 'jobs/s', 'CPU µs per job (min–max)', 'of which', 'publish p50 ms', 'arrival p50 ms (min–max)', 'arrival p99 ms (min–max)'];
  return {
    title: 'At a steady rate',
    head: [...head, `CPU beside ${PEER}`, 'p50 beside it', 'p99 beside it'],
    rows,
    ...notesOf(turns.flatMap(({ loads }) => Object.values(loads)).map(({ cpuPerJob }) => cpuPerJob.others)),
  };
}

function restTable(systems, turns) {
  const rows = systems.flatMap(({ name, label }) => {
    const own = turns.filter(({ system }) => system === name).map(({ atRest }) => atRest);
    if (own.length === 0) return [];
    const of = (part) => spread(own.map((one) => one[part]));
    const parts = PARTS.map((part) => [part, of(part)]).filter(([, value]) => value !== null);
    const all = of('system');
    return [[label, `${all.median} (${all.min}–${all.max})`, parts.map(([part, { median }]) => `${part} ${median}`).join(', ')]];
  });
  return { title: `At rest, over ${AT_REST_SECONDS} s`, head: ['System', '% of a CPU (min–max)', 'of which'], rows };
}
