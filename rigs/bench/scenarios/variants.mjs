import { measureLoad } from '../measure/account.mjs';
import { promiseNote, variantTable } from '../report/variants.mjs';
import { jobferry } from '../systems/jobferry.mjs';
import { faultsOf, takeTurns } from './rounds.mjs';

export const WARM_UP_SECONDS = 3;

/**
 * A scenario of Jobferry alone, in different situations that take turns.
 *   variants   name, label; start, receiver: see rounds.mjs; and what `measure` needs. The first is the usual one
 *   measure    (stage, running, options, variant) instead of a load of the usual kind
 *   columns    what else the table shows
 *   notes      texts from (turns, options): the aims of the issue, and whether they are met
 *   faults     texts from (turns): what must not be, besides lost and repeated jobs
 */
export function variantScenario({
  about,
  title,
  variants,
  measure = measureUsual,
  columns,
  notes = () => [],
  faults = () => [],
  aim,
}) {
  const systems = variants.map(({ start, receiver, ...variant }) => ({
    ...jobferry,
    ...variant,
    plan: { ...(start && { start }), ...(receiver && { receiver }) },
  }));
  return {
    about,
    async run(stage, options) {
      const { turns } = await takeTurns(stage, systems, { rounds: options.rounds, describe }, (running, system) =>
        measure(stage, running, options, system),
      );
      const table = variantTable({
        title,
        variants: systems,
        turns,
        columns,
        aim,
        notes: [promiseNote(turns), ...notes(turns, options)],
      });
      return { results: { turns }, tables: [table], faults: [...faultsOf(turns), ...faults(turns)] };
    },
  };
}

/** As in the throughput scenario. */
async function measureUsual(stage, running, { seconds }) {
  await measureLoad(stage, running, { seconds: WARM_UP_SECONDS });
  await running.warmedUp?.();
  return { ...(await measureLoad(stage, running, { seconds })), peakRss: running.peakRss() };
}

function describe({ jobs, jobsPerSecond, cpuPerJob, arrival, refused }) {
  const refusals = refused === 0 ? '' : `, ${refused} refused`;
  return `${jobs} jobs, ${jobsPerSecond}/s, ${cpuPerJob.system} µs CPU each, arrival p50 ${arrival.p50} ms${refusals}`;
}

/** Largest number of deliveries that any queue had open at the receiver, over all turns. */
export function mostOpenOf(turns) {
  return Math.max(0, ...turns.flatMap(({ mostOpen }) => Object.values(mostOpen)));
}
