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
  worse: 'WORSE: this build costs more per job than the best one so far; the whole interval is above 1.05.',
  better: 'BETTER: this build costs less per job than the best one so far.',
  same: 'No difference that these pairs can prove.',
};

export function sentenceOf(verdict) {
  return SENTENCES[verdict];
}

export function linesOf({ builds, api, whole, all, pairs, quietPairs, verdict }) {
  const lines = [line('median of pairs', builds.new, builds.old, 'ratio (95 % interval)')];
  if (api !== undefined) lines.push(...apiLines(api));
  if (whole === undefined) return lines;
  for (const [name, label] of Object.entries(LABELS)) lines.push(figures(label, whole[name]));
  lines.push(line('all, with indexing, µs', round(all.new, 1), round(all.old, 1), `× ${round(all.new / all.old, 3)}`));
  lines.push(`${quietPairs} of ${pairs.length} pairs were not disturbed${quietPairs > 0 ? '; the figures are theirs' : ''}.`);
  return [...lines, '', sentenceOf(verdict)];
}

/** The text of best.json. */
export function entryOf({ at, whole }, commit) {
  const figures = Object.fromEntries(['total', 'api', 'worker', 'postgres'].map((name) => [name, Math.round(whole[name].new)]));
  const { median, low, high } = whole.total;
  const why = `× ${median} (${low} to ${high}) of the one before, by npm run pairs`;
  const entry = { commit, date: at.toISOString().slice(0, 10), figures, why };
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
