import { spread } from '../measure/statistics.mjs';
import { judged, rate, short } from './format.mjs';
import { notesOf } from './noise.mjs';

/**
 * Jobferry in different situations beside each other: medians of the rounds. The first is what the others are
 * compared with. `columns`: [{head, cell}], where `cell` is given the turns of one variant.
 */
export function variantTable({ title, variants, turns, columns = [], notes = [], aim }) {
  const [base] = variants;
  const of = ({ name }, pick) => spread(turns.filter((turn) => turn.system === name).map(pick));
  const ratio = (variant, pick) => of(variant, pick).median / of(base, pick).median;
  const rows = variants.map((variant) => {
    const own = turns.filter((turn) => turn.system === variant.name);
    const pair = (what) =>
      `${short(of(variant, (turn) => turn[what].p50).median)} / ${short(of(variant, (turn) => turn[what].p99).median)}`;
    const sum = (what) => own.reduce((total, { check }) => total + check[what], 0);
    const speed = ratio(variant, (turn) => turn.jobsPerSecond);
    return [
      variant.label,
      rate(of(variant, (turn) => turn.jobsPerSecond)),
      variant === base ? '' : judged(speed, aim, speed >= aim, '≥'),
      rate(of(variant, (turn) => turn.cpuPerJob.system)),
      variant === base ? '' : judged(ratio(variant, (turn) => turn.cpuPerJob.system)),
      pair('publish'),
      pair('arrival'),
      short(of(variant, (turn) => Math.max(...Object.values(turn.peakRss))).median),
      ...columns.map(({ cell }) => cell(own, variant)),
      `${sum('lost')} / ${sum('duplicates')}`,
      `${Math.round(of(variant, (turn) => turn.cpuPerJob.others).median * 100)} %`,
    ];
  });
  return {
    title,
    head: [
      'Jobferry',
      'jobs/s (min–max)',
      'compared',
      'CPU µs per job (min–max)',
      'compared',
      'publish p50 / p99 ms',
      'arrival p50 / p99 ms',
      'peak RSS MB',
      ...columns.map(({ head }) => head),
      'lost / twice',
      'others busy',
    ],
    rows,
    ...notesOf(
      turns.map((turn) => turn.cpuPerJob.others),
      ...notes,
    ),
  };
}

/** "met" or "MISSED", for an aim that a sentence beside it states. */
export function verdict(isMet) {
  return isMet ? 'met' : 'MISSED';
}

/** The aim that every scenario has. */
export function promiseNote(turns) {
  const isMet = turns.every(
    ({ check }) => check.lost + check.duplicates + check.unexpected + check.badSignatures === 0,
  );
  return `Aim: every accepted job arrives exactly once: ${verdict(isMet)}.`;
}
