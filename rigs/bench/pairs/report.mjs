import { round } from '../measure/statistics.mjs';

const LABELS = {
  total: 'CPU per job, µs',
  api: '  API',
  worker: '  worker',
  postgres: '  PostgreSQL',
  jobsPerSecond: 'jobs/s',
  publishP50: 'publish p50, ms',
  publishP99: '        p99',
  arrivalP50: 'arrival p50, ms',
  arrivalP99: '        p99',
};

const SENTENCES = {
  busy: 'NOT JUDGED: THE MACHINE IS BUSY. Other programs used more than 10 % of a CPU, or its host took more than 2 % of it, before the pairs, or fewer than six pairs were undisturbed.',
  worse: 'WORSE: at one of the loads this build costs more per job than the best one so far; its whole interval is above 1.05.',
  better: 'BETTER: at one of the loads this build costs less per job than the best one so far, and at none of them more.',
  same: 'No difference that these pairs can prove.',
};

export const nameOf = (rate) => (rate === null ? 'full load' : `${rate} jobs/s`);

export function sentenceOf(verdict) {
  return SENTENCES[verdict];
}

export function linesOf({ builds, api, loads = [], verdict }) {
  const lines = [line('median of pairs', builds.new, builds.old, 'ratio (95 % interval)')];
  if (api !== undefined) lines.push(...apiLines(api));
  lines.push(...loads.flatMap(loadLines));
  return verdict === undefined ? lines : [...lines, '', sentenceOf(verdict)];
}

function loadLines({ rate, whole, all, pairs, quietPairs }) {
  return [
    `${nameOf(rate)}: ${quietPairs} of ${pairs.length} pairs were not disturbed${quietPairs > 0 ? '; the figures are theirs' : ''}.`,
    ...Object.entries(LABELS).map(([name, label]) => figures(label, whole[name])),
    line('all, with indexing, µs', round(all.new, 1), round(all.old, 1), `× ${round(all.new / all.old, 3)}`),
  ];
}

/** The text of best.json. */
export function entryOf({ at, loads }, commit) {
  const parts = ['total', 'api', 'worker', 'postgres'];
  const figuresOf = ({ whole }) => Object.fromEntries(parts.map((name) => [name, Math.round(whole[name].new)]));
  const ratioOf = ({ rate, whole: { total } }) => `× ${total.median} (${total.low} to ${total.high}) at ${nameOf(rate)}`;
  const entry = {
    commit,
    date: at.toISOString().slice(0, 10),
    figures: Object.fromEntries(loads.map((load) => [nameOf(load.rate), figuresOf(load)])),
    why: `${loads.map(ratioOf).join(', ')} of the one before, by npm run pairs`,
  };
  return `${JSON.stringify(entry, null, 2)}\n`;
}

function apiLines(api) {
  if (api.problem !== undefined) return [`API in process: not measured, ${api.problem}`];
  return [figures('API in process, µs', api), line('  lowest tenth', round(api.p10.new, 1), round(api.p10.old, 1), '')];
}

function figures(label, { new: ours, old: theirs, median, low, high }) {
  return line(label, round(ours, 1), round(theirs, 1), `× ${median} (${low} to ${high})`);
}

function line(label, ours, theirs, ratio) {
  return `${label.padEnd(22)}${String(ours).padStart(18)}${String(theirs).padStart(18)}   ${ratio}`;
}
