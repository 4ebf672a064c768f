/** Below these, an overload is survived. */
const LEAST_GOODPUT = 0.8;
const MOST_P99_MS = 1000;
const NORMAL_WITHIN_S = 5;
const NORMAL_P99_MS = 250;
const MOST_MEMORY_MIB = 300;
/** As in the experiment with neighbours: the quiet account's p99 beside the load. */
const [QUIET_FACTOR, QUIET_MARGIN_MS] = [2, 50];
/** Goodput is measured over so many seconds at a time: a checkpoint of the database takes its part of one. */
const WINDOW_S = 5;
/** The least share of the deliveries per second without an overload, on average over the whole of it. */
const LEAST_DELIVERIES = 0.5;

export function summaryOf({ loud, quiet, alone, deliveries }, given) {
  const { capacityPerSecond: capacity, seconds } = given;
  // The first second begins with an empty service.
  const during = loud.seconds.slice(1, seconds);
  const normal = loud.seconds.slice(seconds).findIndex(isNormal);
  const goodputs = during.map(({ good }) => good);
  const windows = goodputs.slice(WINDOW_S - 1).map((_, n) => sum(goodputs.slice(n, n + WINDOW_S)) / WINDOW_S);
  const sent = sum(loud.seconds.slice(0, seconds).map((second) => second.sent));
  return {
    ...given,
    sentPerSecond: Math.round(sent / seconds),
    noConnectionPerSecond: Math.round(sum(loud.seconds.slice(0, seconds).map(({ noConnection }) => noConnection)) / seconds),
    goodputOfCapacity: round(sum(goodputs) / during.length / capacity),
    worstWindowOfCapacity: round(Math.min(...windows) / capacity),
    worstSecondOfCapacity: round(Math.min(...goodputs) / capacity),
    acceptedP50Ms: loud.all.p50,
    acceptedP99Ms: loud.all.p99,
    worstSecondP99Ms: Math.max(...during.map(({ p99 }) => p99 ?? 0)),
    normalAfterSeconds: normal === -1 ? null : normal,
    generatorLatenessP99Ms: loud.ownLatenessP99Ms,
    quietRefused: sum(quiet.seconds.map(({ refused, broken, noConnection }) => refused + broken + noConnection)),
    quietP99AloneMs: alone.all.p99,
    quietP99Ms: quiet.all.p99,
    ...(deliveries && {
      deliveredPerSecond: Math.round(sum(deliveries.slice(1, seconds)) / (seconds - 1)),
      fewestDeliveredInASecond: Math.min(...deliveries.slice(1, seconds)),
    }),
  };
}

/** The aims, the measured values, and whether they are met. */
export function targetsOf(summary) {
  const { memoryBeforeMiB, memoryAtMostMiB, quietP99AloneMs, deliveredBeforePerSecond } = summary;
  const grown = memoryAtMostMiB - memoryBeforeMiB;
  const quietBound = QUIET_FACTOR * quietP99AloneMs + QUIET_MARGIN_MS;
  const { worstWindowOfCapacity: goodput, acceptedP99Ms: p99, normalAfterSeconds: normal } = summary;
  const targets = [
    [`goodput in the worst ${WINDOW_S} s at least ${LEAST_GOODPUT} of capacity`, goodput, goodput >= LEAST_GOODPUT],
    [`p99 of what is accepted at most ${MOST_P99_MS} ms`, p99, p99 !== null && p99 <= MOST_P99_MS],
    [`normal within ${NORMAL_WITHIN_S} s after the load`, normal, normal !== null && normal <= NORMAL_WITHIN_S],
    [`at most ${MOST_MEMORY_MIB} MiB more memory`, grown, grown <= MOST_MEMORY_MIB],
    ['nothing of the quiet account refused', summary.quietRefused, summary.quietRefused === 0],
    [`p99 of the quiet account at most ${quietBound} ms`, summary.quietP99Ms, summary.quietP99Ms <= quietBound],
  ];
  if (deliveredBeforePerSecond !== undefined) {
    const least = Math.round(deliveredBeforePerSecond * LEAST_DELIVERIES);
    const { deliveredPerSecond, fewestDeliveredInASecond } = summary;
    targets.push([`at least ${least} deliveries a second`, deliveredPerSecond, deliveredPerSecond >= least]);
    targets.push(['deliveries in every second', fewestDeliveredInASecond, fewestDeliveredInASecond > 0]);
  }
  return targets.map(([promise, figure, isMet]) => ({ promise, figure, isMet }));
}

function isNormal({ refused, broken, p99 }) {
  return refused + broken === 0 && p99 !== null && p99 < NORMAL_P99_MS;
}

export function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function round(number) {
  return Math.round(number * 100) / 100;
}
