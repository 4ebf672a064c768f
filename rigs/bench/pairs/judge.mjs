// The rules by which pairs are compared, without I/O.
import { median, round } from '../measure/statistics.mjs';
import { isQuiet } from '../measure/quiet.mjs';

/** The build is worse if even the lower end of the interval is above this ratio. */
const WORSE = 1.05;
/** Fewer pairs say nothing. */
const FEWEST = 6;
const RESAMPLES = 2000;
const SEED = 27;

/**
 * The order of a pair: the second one goes first in the next pair,
 * so that a machine that becomes slower favours neither.
 */
export function orderOf(pair) {
  return pair % 2 === 0 ? ['new', 'old'] : ['old', 'new'];
}

/**
 * The median of some ratios, and the interval in which it is with 95 % confidence, by resampling.
 * The same input has the same result.
 */
export function intervalOf(ratios) {
  const random = randomFrom(SEED);
  const drawn = () => ratios[Math.floor(random() * ratios.length)];
  const medians = Array.from({ length: RESAMPLES }, () => median(ratios.map(drawn))).sort((one, other) => one - other);
  const at = (share) => round(medians[Math.floor(share * (RESAMPLES - 1))], 3);
  return { median: round(median(ratios), 3), low: at(0.025), high: at(0.975) };
}

/** Compares one figure of pairs: `{ new, old, median, low, high }`, the last three of the ratio of new to old. */
export function compare(pairs, figure) {
  const of = (side) => pairs.map((pair) => figure(pair[side]));
  const [ours, theirs] = [of('new'), of('old')];
  return { new: median(ours), old: median(theirs), ...intervalOf(ours.map((value, n) => value / theirs[n])) };
}

/** Pairs during which nothing else ran. */
export function undisturbed(pairs) {
  return pairs.filter((pair) => isQuiet(pair.new) && isQuiet(pair.old));
}

/** @returns `busy` where nothing can be judged, else `worse`, `better` or `same` */
export function verdictOf(isQuietBefore, quietPairs, { low, high }) {
  if (!isQuietBefore || quietPairs < FEWEST) return 'busy';
  if (low > WORSE) return 'worse';
  return high < 1 ? 'better' : 'same';
}

/** The verdict about all loads: a gain at one of them does not make up for a loss at another. */
export function togetherOf(verdicts) {
  return ['worse', 'busy', 'better'].find((verdict) => verdicts.includes(verdict)) ?? 'same';
}

/** Random numbers that are the same in each run (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
